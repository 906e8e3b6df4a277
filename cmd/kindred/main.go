// Command kindred trains, measures and explains embeddings.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(execute(withSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}
