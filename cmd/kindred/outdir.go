package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/atomic"
)

// outDir is the folder that a command writes its results to. What an earlier
// command wrote there is replaced only on request.
type outDir struct {
	dir   string
	force bool
}

func (o *outDir) add(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&o.dir, "out", "", usage)
	cmd.Flags().BoolVar(&o.force, "force", false, "replace the results in the folder of --out")
}

// settle refuses a folder that holds any of the files to be written. Without --out
// it takes the default one, with a number if that is taken. Temporary files that killed
// processes left there are removed.
func (o *outDir) settle(usual string, files ...string) error {
	if o.dir == "" {
		o.dir = usual
		for n := 2; !o.force && held(o.dir, files) != ""; n++ {
			o.dir = fmt.Sprintf("%s-%d", usual, n)
		}
		return atomic.Clean(o.dir)
	}
	if file := held(o.dir, files); file != "" && !o.force {
		return fmt.Errorf("%s is there already: replace it with --force, or choose another folder with --out", file)
	}
	return atomic.Clean(o.dir)
}

// held returns the first of the files that the folder holds, "" for none.
func held(dir string, files []string) string {
	for _, name := range files {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}
