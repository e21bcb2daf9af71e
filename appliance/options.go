package appliance

// Options go with every change of a Want.
type Options struct {
	// IfMatch is the version the change is made against; "" changes
	// whatever is in force. It is compared before anything is checked.
	IfMatch string
	// DryRun checks everything and changes nothing.
	DryRun bool
	// NewRun begins a new run with the change: what is inside the links is
	// dropped, the channel and the counters begin anew.
	NewRun bool
	// By says who asks, for events and the log.
	By string
}

// ProfileInfo is one line of the list of profiles.
type ProfileInfo struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Hash    string `json:"hash" doc:"First 7 hex digits."`
	Shipped bool   `json:"shipped" doc:"Part of the program, read-only."`
	RTT     string `json:"rtt" doc:"Round trip without queueing, as text." example:"500ms"`
	Down    string `json:"down" doc:"Rate towards the device, as text." example:"8Mbit/s"`
	Up      string `json:"up" doc:"Rate from the device, as text." example:"2Mbit/s"`
	Loss    string `json:"loss" doc:"Loss, as text." example:"1%"`
	Varies  string `json:"varies,omitempty" doc:"What changes over time."`
}
