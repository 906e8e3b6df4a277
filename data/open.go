package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DebianHome is where Debian's dataset-* packages install.
const DebianHome = "/usr/share/datasets"

// OpenOptions adjusts Open. The zero value is the usual way.
type OpenOptions struct {
	// Home is the folder that holds data sets by name; see Home.
	Home string
}

// Open finds a data set and reads its list of samples. what is the name of a
// set in the data folder (or installed by a Debian package), or a path.
// Errors say what was looked for and where.
func Open(what string, opt OpenOptions) (*Dataset, error) {
	if what == "" {
		return nil, errors.New("no data set given: name one (see 'kindred data list') or give a path")
	}
	path, name, err := locate(what, opt.Home)
	if err != nil {
		return nil, err
	}
	return openPath(path, name)
}

// locate turns what into a path and the name of the set.
func locate(what, home string) (path, name string, err error) {
	if !strings.ContainsAny(what, `/\`) && what != "." && what != ".." {
		tried := []string{}
		for _, base := range []string{home, DebianHome} {
			if base == "" {
				continue
			}
			path := filepath.Join(base, what)
			if _, err := os.Stat(path); err == nil {
				return path, what, nil
			}
			tried = append(tried, path)
		}
		if _, err := os.Stat(what); err != nil {
			return "", "", fmt.Errorf("no data set %q: there is no %s, and no such path; 'kindred data get %s' fetches the sets that 'kindred data list' shows", what, strings.Join(tried, " or "), what)
		}
	}
	if _, err := os.Stat(what); errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("no data set at %s: no such file or folder", what)
	} else if err != nil {
		return "", "", err
	}
	abs, err := filepath.Abs(what)
	if err != nil {
		return "", "", err
	}
	return what, strings.ToLower(filepath.Base(abs)), nil
}

func openPath(path, name string) (*Dataset, error) {
	if isIdx(path) {
		return openIdx(path, name)
	}
	return nil, fmt.Errorf("%s: not a data set of a known layout", path)
}
