package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
)

// ChangeIndex opens an index for writing, calls f and closes it.
func ChangeIndex(dir string, f func(*index.Index) error) (err error) {
	x, err := index.Open(dir, index.Options{})
	var held *lock.HeldError
	if errors.As(err, &held) {
		return ExplainInUse(held)
	}
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, x.Close()) }()
	return f(x)
}

// ExplainInUse adds to the error how an index can be changed while another program has it open.
func ExplainInUse(e *lock.HeldError) error {
	if e.Holder != nil && slices.Contains(e.Holder.Command, "serve") {
		return fmt.Errorf("%w; change the index through that server (POST, PUT and DELETE /v1/items, "+
			"docs/serve.md), or let "+
			"the server follow a folder with 'kindred serve --sync DIR', or stop it; with --read-only it leaves the "+
			"index free and serves the state at its start", e)
	}
	return fmt.Errorf("%w; wait for that program, or stop it", e)
}

// IsIndex reports whether a folder holds an index.
func IsIndex(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "MANIFEST"))
	return err == nil
}

// ReadIndex opens an index for reading, and prints a warning if acknowledged changes are
// missing from it.
func ReadIndex(a *console.Console, dir string) (*index.Index, error) {
	x, err := index.Open(dir, index.Options{ReadOnly: true})
	if err == nil {
		WarnShortfall(a, x)
	}
	return x, err
}

// WarnShortfall prints a warning if acknowledged changes are missing from the index.
func WarnShortfall(a *console.Console, x *index.Index) {
	if s := x.Info().Shortfall; s != nil {
		dir := escape.Name(x.Dir())
		fmt.Fprintf(a.Err, "kindred: %s: %s; restore the file from a backup, or accept the loss: "+
			"'kindred index check %s --repair'\n", dir, escape.Text(s.String()), dir)
	}
}
