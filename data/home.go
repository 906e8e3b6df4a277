package data

import (
	"fmt"
	"os"
	"path/filepath"
)

// EnvHome is the environment variable that names the data folder.
const EnvHome = "KINDRED_DATA"

// Home returns the data folder: flag if not empty, else $KINDRED_DATA, else
// kindred/data in the user's cache folder. It holds one folder per data set.
func Home(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if dir := os.Getenv(EnvHome); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for data: %w; set --data-dir or $%s", err, EnvHome)
	}
	return filepath.Join(cache, "kindred", "data"), nil
}
