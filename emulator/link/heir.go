package link

// Heir is a stage that goes on where the stage formerly in its place
// stopped: the state of a channel, the packet in service. Inherit comes
// before the old stage is drained, and may take packets out of it.
type Heir interface {
	Inherit(now Time, old Stage)
}

// Succeed puts next in the place of old at now: next inherits old's state and
// adopts what it held. What next has no place for goes to overflow, in order
// (nil only where next is a Holder).
func Succeed(old, next Stage, now Time, overflow func(Packet)) {
	if h, ok := next.(Heir); ok {
		h.Inherit(now, old)
	}
	from, ok := old.(Holder)
	if !ok {
		return
	}
	if to, ok := next.(Holder); ok {
		overflow = func(p Packet) { to.Adopt(now, p) }
	}
	from.Drain(overflow)
}
