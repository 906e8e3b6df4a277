// Command kindred trains, measures and explains embeddings.
package main

import (
	"context"
	"os"

	"github.com/kindred-ml/kindred/internal/app/cli/signals"
)

func main() {
	os.Exit(execute(signals.NewContext(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}
