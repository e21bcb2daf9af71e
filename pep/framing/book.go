package framing

import "slices"

// MostPaths is how many paths a connection may have.
const MostPaths = 8

// Chunk is a piece of a connection that is on its way.
type Chunk struct {
	DSN  uint64
	Data []byte
	Last bool
	Mark uint64 // of the sender: where the chunk ended on the path that had it last

	sent  uint8 // paths that have it in flight
	again bool  // in the queue of what must be sent again
}

// Size is how many sequence numbers the chunk takes.
func (c *Chunk) Size() int {
	if c.Last {
		return len(c.Data) + 1
	}
	return len(c.Data)
}

// End is the number after the chunk's last.
func (c *Chunk) End() uint64 { return c.DSN + uint64(c.Size()) }

// Book is what a sender knows of one direction of a connection: what the peer
// has, what is in flight and where, what must go again, and what is new.
type Book struct {
	// Reinjected counts chunks that were sent again on another path.
	Reinjected uint64

	chunks  []*Chunk // by number, from the first that is not acknowledged
	next    int      // index of the first that was never sent
	una     uint64
	limit   uint64 // up to where the peer takes
	tail    uint64 // the number after the last chunk
	unsent  int
	again   []*Chunk
	behind  [MostPaths]uint64 // Redundant: all below has had its copy on the path
	dropped func(*Chunk)
}

// NewBook returns the book of a direction whose peer takes up to limit at
// first. dropped is told of chunks that are done with.
func NewBook(limit uint64, dropped func(*Chunk)) *Book { return &Book{limit: limit, dropped: dropped} }

// Append adds what was read from the source.
func (b *Book) Append(c *Chunk) {
	c.DSN = b.tail
	b.tail = c.End()
	b.unsent += c.Size()
	b.chunks = append(b.chunks, c)
}

// Unsent is how many bytes no path has had.
func (b *Book) Unsent() int { return b.unsent }

// Held is how many bytes are not acknowledged or not sent.
func (b *Book) Held() int { return int(b.tail - b.una) }

// Window is what the peer takes from its acknowledgement on, and how much of
// it is free.
func (b *Book) Window() (window, left int) {
	return int(b.limit - b.una), max(int(b.limit)-int(b.nextDSN()), 0)
}

// Una is the first number that is not acknowledged.
func (b *Book) Una() uint64 { return b.una }

func (b *Book) nextDSN() uint64 { return b.tail - uint64(b.unsent) }

// New is the next chunk that was never sent; nil if there is none.
func (b *Book) New() *Chunk {
	if b.next == len(b.chunks) {
		return nil
	}
	return b.chunks[b.next]
}

// Sent notes that a path has the chunk in flight.
func (b *Book) Sent(c *Chunk, path int) {
	if b.New() == c {
		b.next++
		b.unsent -= c.Size()
	} else if c.sent != 0 || c.again {
		b.Reinjected++
	}
	c.sent |= 1 << path
	if max(b.behind[path], b.una) == c.DSN {
		b.behind[path] = c.End()
	}
	if c.again {
		c.again = false
		b.again = slices.DeleteFunc(b.again, func(o *Chunk) bool { return o == c })
	}
}

// Copied is Sent for Redundant's copies, which are no reinjections.
func (b *Book) Copied(c *Chunk, path int) {
	b.behind[path] = c.End()
	c.sent |= 1 << path
}

// Behind is how many bytes in flight the path has had no copy of.
func (b *Book) Behind(path int) int {
	from := max(b.behind[path], b.una)
	return max(int(b.nextDSN())-int(from), 0)
}

// Copy is the next chunk that a path that is behind should copy; nil if none.
func (b *Book) Copy(path int) *Chunk {
	from := max(b.behind[path], b.una)
	i, _ := slices.BinarySearchFunc(b.chunks[:b.next], from, func(c *Chunk, n uint64) int {
		switch {
		case c.End() <= n:
			return -1
		case c.DSN > n:
			return 1
		}
		return 0
	})
	for ; i < b.next; i++ {
		if c := b.chunks[i]; c.sent&(1<<path) == 0 {
			return c
		}
		b.behind[path] = b.chunks[i].End()
	}
	return nil
}

// Acked takes the peer's word: all below dsn is there, and it takes up to
// limit. It reports whether anything is new, and whether it can be true.
func (b *Book) Acked(dsn, limit uint64) (news, possible bool) {
	if dsn > b.nextDSN() {
		return false, false
	}
	if limit > b.limit {
		b.limit, news = limit, true
	}
	done := 0
	for done < b.next && b.chunks[done].End() <= dsn {
		c := b.chunks[done]
		if c.again {
			b.again = slices.DeleteFunc(b.again, func(o *Chunk) bool { return o == c })
		}
		b.una = c.End()
		b.dropped(c)
		b.chunks[done] = nil
		done++
	}
	if done == 0 {
		return news, true
	}
	b.chunks, b.next = b.chunks[done:], b.next-done
	return true, true
}

// Lose marks what only this path has in flight to be sent again by another:
// the path is silent or gone. It returns how many chunks.
func (b *Book) Lose(path int) (n int) {
	for _, c := range b.chunks[:b.next] {
		if c.sent&(1<<path) == 0 {
			continue
		}
		if c.sent &^= 1 << path; c.sent == 0 && !c.again {
			c.again = true
			b.again = append(b.again, c)
			n++
		}
	}
	b.behind[path] = 0
	return n
}

// Again is the first chunk that must be sent again; nil if there is none.
func (b *Book) Again() *Chunk {
	if len(b.again) == 0 {
		return nil
	}
	return b.again[0]
}

// Head is the chunk that the peer waits for, if it was sent; nil if nothing
// is in flight. On says whether a path has it in flight.
func (b *Book) Head() *Chunk {
	if b.next == 0 {
		return nil
	}
	return b.chunks[0]
}

// On reports whether the path has the chunk in flight.
func (c *Chunk) On(path int) bool { return c.sent&(1<<path) != 0 }

// Only reports whether the path, and no other, has the chunk in flight.
func (c *Chunk) Only(path int) bool { return c.sent == 1<<path }

// Close drops all that is left.
func (b *Book) Close() {
	for _, c := range b.chunks {
		b.dropped(c)
	}
	b.chunks, b.again, b.next, b.unsent = nil, nil, 0, 0
}
