package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"farlink/emulator/pcap"
)

// headMost is how much of a frame a stream keeps: its headers. A recording
// needs none of it, but people want to know what they look at.
const headMost = 64

// stream writes the fates of a pair as they come about, the whole of a run.
// What it writes is what Write writes, one way after the other at each look.
type stream struct {
	file io.WriteCloser
	out  *bufio.Writer
	pcap *pcap.Writer
	most int64
	is   Streamed
	tell func(Streamed)
}

// Streamed is how far a stream has come.
type Streamed struct {
	Packets uint64
	Bytes   int64
	Missed  uint64 // fates that came about too quickly to be kept
	Why     string // why it ended before it was asked to; "" while it goes on
	Ended   bool
}

var errFull = errors.New("full")

// Stream begins to write all fates to file, up to most bytes, until EndStream;
// it ends earlier when file is full or takes no more. tell hears after each
// look how far it has come, perhaps from two goroutines at once. The recorder need not be armed.
func (r *Recorder) Stream(file io.WriteCloser, most int64, about string, tell func(Streamed)) error {
	s := &stream{file: file, out: bufio.NewWriterSize(file, 1<<18), most: most, tell: tell}
	w, err := newWriter(s, about)
	if err != nil {
		return fmt.Errorf("stream capture: %w", err)
	}
	s.pcap = w
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream != nil {
		return errors.New("stream capture: another one goes on")
	}
	if r.stream = s; r.tap == nil {
		r.follow(r.Source())
	}
	return nil
}

// EndStream writes what came about by now, and ends the stream; the zero
// Streamed if there was none.
func (r *Recorder) EndStream() Streamed {
	r.look()
	r.mu.Lock()
	s := r.stream
	if s == nil {
		r.mu.Unlock()
		return Streamed{}
	}
	s.end("")
	if r.stream = nil; !r.armed {
		r.leave()
	}
	r.mu.Unlock()
	s.tell(s.is)
	return s.is
}

// Write is where the pcapng goes.
func (s *stream) Write(b []byte) (int, error) {
	if s.is.Bytes+int64(len(b)) > s.most {
		return 0, errFull
	}
	n, err := s.out.Write(b)
	s.is.Bytes += int64(n)
	return n, err
}

// add writes a fate.
func (s *stream) add(f record) {
	if s.is.Ended {
		return
	}
	f.bytes = f.bytes[:min(len(f.bytes), headMost)]
	if err := s.pcap.Write(f.packet()); err != nil {
		s.end(s.why(err))
		return
	}
	s.is.Packets++
}

// flush has the file take what there is.
func (s *stream) flush() {
	if s.is.Ended {
		return
	}
	if err := s.out.Flush(); err != nil {
		s.end(s.why(err))
	}
}

func (s *stream) why(err error) string {
	if errors.Is(err, errFull) {
		return fmt.Sprintf("it holds %d bytes, as many as it may", s.is.Bytes)
	}
	return err.Error()
}

// end closes the file.
func (s *stream) end(why string) {
	if s.is.Ended {
		return
	}
	err := errors.Join(s.out.Flush(), s.file.Close())
	s.is.Ended, s.is.Why = true, why
	if err != nil && why == "" {
		s.is.Why = err.Error()
	}
}
