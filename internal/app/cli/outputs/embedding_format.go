package outputs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
)

// ChooseFormat returns the format in which embeddings are written to path. Standard output
// and pipes, whose names have no extension, get .npy.
func ChooseFormat(path string) (embedding.Format, error) {
	if st, err := os.Stat(path); IsStdout(path) || err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return embedding.NPY, nil
	}
	return cli.EmbeddingFormats().ForPath(path)
}

// ChooseLabelFormat returns the format in which paths and labels are written to path, if
// any.
func ChooseLabelFormat(path string) (embedding.Format, error) {
	f, err := ChooseFormat(path)
	switch {
	case path == "" || f == embedding.NPY && !strings.EqualFold(filepath.Ext(path), embedding.NPY.Extension()):
		return embedding.CSV, nil // the default for a name without an extension
	case f == embedding.NPY:
		err = fmt.Errorf("--labels %s: a .npy file holds no paths; write labels to a .csv file", path)
	}
	return f, err
}
