package link

// Heir is a stage that goes on where the stage formerly in its place
// stopped: the state of a channel, the packet in service. Inherit comes
// before the old stage is drained, and may take packets out of it. An old
// stage of another kind leaves nothing to inherit.
type Heir interface {
	Inherit(now Time, old Stage)
}
