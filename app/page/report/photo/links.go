package photo

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/app/page/report"
)

// Links returns the Link of items by their names, for a page to be written to the
// path page: names[i] lies below the folder root, or is a path by itself. Items
// that are no files there, as those of an archive, have none.
func Links(page, root string, names []string) func(i int) string {
	return func(i int) string {
		path := filepath.FromSlash(names[i])
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return ""
		}
		return report.Link(page, path)
	}
}

// Root is the folder below which the items of a data set lie, if they are files:
// what is the set's own, a manifest in it, or the name of one in the folder home. It is ""
// for an address, below which there are no files here.
func Root(what, home string) string {
	if strings.Contains(what, "://") {
		return ""
	}
	if _, err := os.Stat(what); err != nil {
		return filepath.Join(home, what)
	}
	if strings.EqualFold(filepath.Ext(what), ".csv") {
		return filepath.Dir(what)
	}
	return what
}

// Folder is the Folder of a report.Map on that page: the address of root, if the
// items lie below it as files.
func Folder(page, root string, names []string) string {
	if len(names) == 0 || filepath.IsAbs(filepath.FromSlash(names[0])) || Links(page, root, names)(0) == "" {
		return ""
	}
	return report.Link(page, root) + "/"
}
