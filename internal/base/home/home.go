// Package home names the folders for files that kindred can fetch or compute again: data
// sets, weights, images, features.
package home

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// Folder returns the folder for name: chosen if not empty (a flag's value), else the
// value of the environment variable env, if env is not empty and the variable is set,
// else kindred/NAME in the user's cache folder. It creates nothing. Its error comes from
// os.UserCacheDir.
func Folder(name, chosen, env string) (string, error) {
	if env != "" {
		chosen = cmp.Or(chosen, os.Getenv(env))
	}
	if chosen != "" {
		return chosen, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "kindred", name), nil
}

// Features returns the folder in which the features of frozen networks are kept:
// kindred/features in the user's cache folder.
func Features() (string, error) {
	dir, err := Folder("features", "", "")
	if err != nil {
		return "", fmt.Errorf("no place for a cache of features: %w", err)
	}
	return dir, nil
}
