package data

import (
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/base/option"
)

// Options that errors name.
const (
	optHome   option.Option = "data.OpenOptions.Home"
	optStrict option.Option = "data.OpenOptions.Strict"
)

// EnvHome is the environment variable that names the data folder.
const EnvHome = "KINDRED_DATA"

// Home returns the data folder: dir if not empty, else $KINDRED_DATA, else
// kindred/data in the user's cache folder. It holds one folder per data set.
func Home(dir string) (string, error) {
	dir, err := home.Folder("data", dir, EnvHome)
	if err != nil {
		return "", option.Errorf("no folder for data: %w; set %s or $%s", err, optHome, EnvHome)
	}
	return dir, nil
}
