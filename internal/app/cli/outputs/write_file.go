package outputs

import (
	"bufio"
	"io"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// WriteFile writes the file that a flag names; "-" and /dev/stdout are standard
// output, which a shell may have sent anywhere.
func WriteFile(a *console.Console, path string, write func(io.Writer) error) error {
	if !IsStdout(path) {
		return atomic.WriteFile(path, write)
	}
	w := bufio.NewWriter(a.Raw)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// IsStdout reports whether a path names standard output.
func IsStdout(path string) bool { return path == "-" || path == "/dev/stdout" }
