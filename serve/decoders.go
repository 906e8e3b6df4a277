package serve

import (
	"context"
	"runtime"

	"github.com/kindred-ml/kindred/data/imaging"
)

// decoderSlots are the places of pictures that are being decoded: as many as cores, because whatever else waits for a
// core would wait for all of them. Pictures that are decoded in a sandbox have one fewer, so that they never keep a
// server from its other work.
type decoderSlots struct{ all, sandboxed chan struct{} }

func newDecoders() decoderSlots {
	cores := runtime.GOMAXPROCS(0)
	return decoderSlots{make(chan struct{}, cores), make(chan struct{}, max(1, cores-1))}
}

// acquire waits for a place for a file. free gives it back.
func (d decoderSlots) acquire(ctx context.Context, file []byte) (free func(), err error) {
	places := []chan struct{}{d.all}
	if imaging.IsSandboxed(file) { // while it waits for the rarer place, it keeps no other
		places = []chan struct{}{d.sandboxed, d.all}
	}
	var taken []chan struct{}
	free = func() {
		for _, p := range taken {
			<-p
		}
	}
	for _, p := range places {
		select {
		case p <- struct{}{}:
			taken = append(taken, p)
		case <-ctx.Done():
			free()
			return nil, ctx.Err()
		}
	}
	return free, nil
}
