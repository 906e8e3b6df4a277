package inputs

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/internal/network/textencoder"
	"github.com/kindred-ml/kindred/run"
)

// AddTower adds the flag that names the folder of a text tower.
func AddTower(cmd *cobra.Command, to *string, usage string) {
	flags.New(cmd).Text(to, "words", "", usage, complete.Folders)
}

// TowerHelp is the help of --words of commands that search.
const TowerHelp = "folder of the text tower that was trained together with the network; default: the one that the " +
	"index remembers"

// networkFolder returns the folder of a network from a file or folder; "" for one by name.
func networkFolder(network string) string {
	switch st, err := os.Stat(network); {
	case err != nil:
		return ""
	case st.IsDir():
		return network
	}
	return filepath.Dir(network)
}

// RecordTower finds the text tower of an index whose network is read from a place: the one in dir or, if dir is "",
// the one in the folder of the network.
func RecordTower(a *console.Console, dir string, m *run.Model, network string, to *index.Network) error {
	named := dir != ""
	if !named {
		dir = networkFolder(network)
	}
	if dir == "" || !named && !textencoder.IsTower(dir) {
		return nil
	}
	_, err := provenance.OpenTower(m, network, dir)
	if err == nil {
		err = provenance.RecordTower(to, dir)
	}
	if err != nil && !named {
		fmt.Fprintf(a.Err, "the index remembers no text tower: %s\n", escape.Text(err.Error()))
		return nil
	}
	return err
}
