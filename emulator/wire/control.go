package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The daemon and the engine speak JSON documents, each behind its length in
// 4 bytes, over a socket that both inherit. To each ask comes one answer with
// the same number.

type ask struct {
	ID   uint64
	Verb verb
	Mode uint32 `json:",omitempty"`
	Doc  []byte `json:",omitempty"`
	Conf Config `json:",omitzero"`
}

type verb string

const (
	verbStart verb = "start"
	verbApply verb = "apply"
	verbRun   verb = "run"
	verbMode  verb = "mode"
	verbHeap  verb = "heap"
	verbStop  verb = "stop"
)

type answer struct {
	ID      uint64
	Error   string   `json:",omitempty"`
	Applied *Applied `json:",omitempty"`
	Report  *Report  `json:",omitempty"`
	Memory  *Memory  `json:",omitempty"`
}

func (a *answer) err() error {
	if a.Error == "" {
		return nil
	}
	return errors.New(a.Error)
}

// maxDocument bounds what one side believes of the other.
const maxDocument = 64 << 20

// pipe is one end of the socket.
type pipe struct {
	rw io.ReadWriteCloser
	mu sync.Mutex // of writing
}

func (p *pipe) write(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write control document: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	if _, err := p.rw.Write(append(frame, body...)); err != nil {
		return fmt.Errorf("write control document: %w", err)
	}
	return nil
}

func (p *pipe) read(v any) error {
	var head [4]byte
	if _, err := io.ReadFull(p.rw, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxDocument {
		return fmt.Errorf("control document of %d bytes: want at most %d", n, maxDocument)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(p.rw, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}
