package data

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/home"
)

// EnvHome is the environment variable that names the data folder.
const EnvHome = "KINDRED_DATA"

// Home returns the data folder: flag if not empty, else $KINDRED_DATA, else
// kindred/data in the user's cache folder. It holds one folder per data set.
func Home(flag string) (string, error) {
	dir, err := home.Folder("data", flag, EnvHome)
	if err != nil {
		return "", fmt.Errorf("no place for data: %w; set --data-dir or $%s", err, EnvHome)
	}
	return dir, nil
}
