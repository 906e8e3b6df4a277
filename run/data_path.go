package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// dataPathComment begins the last line of config.yaml, if data.path is relative. The line has the absolute path that it
// meant when the run began, so that the run's data are found from other folders too.
const dataPathComment = "# data.path was "

// withDataPath returns the text of the configuration with the comment, if the data are there.
func (c *Config) withDataPath() string {
	text := string(c.YAML())
	if c.Data.Path == "" || filepath.IsAbs(c.Data.Path) {
		return text
	}
	abs, err := filepath.Abs(c.Data.Path)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		return text
	}
	return text + dataPathComment + strconv.Quote(abs) + "\n"
}

// dataPathOf returns the data.path of a configuration, or the absolute path in its comment if data.path is relative and
// leads nowhere from here.
func dataPathOf(path string, config []byte) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	lines := bytes.Split(bytes.TrimSpace(config), []byte("\n"))
	quoted, ok := strings.CutPrefix(string(lines[len(lines)-1]), dataPathComment)
	if !ok {
		return path
	}
	abs, err := strconv.Unquote(quoted)
	if err != nil || !filepath.IsAbs(abs) {
		return path
	}
	if _, err := os.Stat(abs); err != nil {
		return path // the error then names what the user gave
	}
	return abs
}
