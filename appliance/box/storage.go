package box

import (
	"context"
	"time"

	"farlink/appliance"
)

// storing is how often it is looked whether the state can be written (again).
const storing = 5 * time.Second

// tend tells when the state can no longer be written, and when it can again.
func (b *Box) tend(ctx context.Context) error {
	look := time.NewTicker(storing)
	defer look.Stop()
	told := false
	for {
		fault := b.store.Fault()
		if fault != nil {
			fault = b.store.Try()
		}
		switch {
		case fault != nil && !told:
			b.bus.Publish(appliance.Event{Kind: appliance.KindStorage, Text: "the state cannot be written, changes are refused: " + fault.Error()})
		case fault == nil && told:
			b.bus.Publish(appliance.Event{Kind: appliance.KindStorage, Text: "the state can be written again"})
		}
		told = fault != nil
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// storage says why the state cannot be written, "" when it can.
func (b *Box) storage() string {
	if err := b.store.Fault(); err != nil {
		return err.Error()
	}
	return ""
}
