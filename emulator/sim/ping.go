package sim

import "farlink/emulator/link"

// Ping sends requests and answers them from the other side, as ping does: it
// measures round trips through both ways.
type Ping struct {
	Name  string
	From  link.Way // way of the requests; replies take the other
	Size  int      // of request and reply; 98 is ping's default frame
	Every link.Duration
	Start link.Time
	Stop  link.Time // 0 is "never"

	next  link.Time
	going bool
}

// Kinds of a Ping's packets.
const (
	request = iota
	reply
)

// Flow names the sender.
func (p *Ping) Flow() Flow { return Flow{Name: p.Name, DevicePort: 40004, NetworkPort: 7} }

// Wake sends a request.
func (p *Ping) Wake(n *Net) {
	if !p.going {
		p.going, p.next = true, p.Start
	}
	if n.Now >= p.next && !stopped(n.Now, p.Stop) {
		n.Send(p.From, p.Size, Note{Kind: request, Echo: n.Now})
		p.next = p.next.Add(p.Every)
	}
	if !stopped(p.next, p.Stop) {
		n.At(p.next)
	}
}

// Met answers a request, and takes the round trip from a reply.
func (p *Ping) Met(n *Net, s Sent, f link.Fate) {
	switch {
	case f.Lost() || f.Packet.Mark&link.Duplicate != 0:
	case s.Note.Kind == request:
		n.Send(s.Way.Other(), p.Size, Note{Kind: reply, Echo: s.Note.Echo})
	default:
		n.RTT(f.Packet.When.Sub(s.Note.Echo))
	}
}

func stopped(now, stop link.Time) bool { return stop != 0 && now >= stop }
