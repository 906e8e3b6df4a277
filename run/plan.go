package run

import "context"

// Plan says what Train would do with the same configuration and options. It opens the data
// set, divides it, resolves the configuration and makes the network, and so finds all
// mistakes. It trains nothing and writes nothing.
func Plan(ctx context.Context, cfg Config, opts Options) (*Setup, error) {
	t, err := assemble(ctx, cfg, opts)
	if err != nil {
		return nil, skippable(err)
	}
	defer t.close()
	s := t.setup()
	return &s, nil
}
