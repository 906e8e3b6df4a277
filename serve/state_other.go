//go:build !unix

package serve

import (
	"fmt"
	"os"
)

// stateOf tells one state of an open file from others by its size and time.
func stateOf(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano()), nil
}
