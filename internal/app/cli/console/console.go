// Package console is what every command prints to: results and remarks, on a terminal or into a file, and the progress
// of work.
package console

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Console is what all commands share: the output streams and the global flags.
// Results go to Out, progress and remarks to Err.
type Console struct {
	Out, Err io.Writer
	Screen   io.Writer // Err, for text that moves the cursor of a terminal; nil: use Err
	Raw      io.Writer // Out, for bytes that must not be escaped: JSON, CSV, files
	JSON     bool
	Seed     uint64
}

// IsTerminal reports whether progress is shown on a terminal.
func (a *Console) IsTerminal() bool {
	f, ok := a.Terminal().(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Terminal returns the writer of remarks for output that is more than text, such as moves of the cursor.
func (a *Console) Terminal() io.Writer {
	if a.Screen != nil {
		return a.Screen
	}
	return a.Err
}

// PrintJSON writes v as the one JSON document of a command.
func (a *Console) PrintJSON(v any) error {
	enc := json.NewEncoder(a.Raw)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// PrintResult prints the result of a command: v as JSON with --json, else by calling text.
func (a *Console) PrintResult(v any, text func() error) error {
	if a.JSON {
		return a.PrintJSON(v)
	}
	return text()
}

// PrintResultf is PrintResult with a text of one format.
func (a *Console) PrintResultf(v any, format string, args ...any) error {
	return a.PrintResult(v, func() error {
		_, err := fmt.Fprintf(a.Out, format, args...)
		return err
	})
}

// MaxPrinted is how many entries of a list are printed without --full.
const MaxPrinted = 10
