package photo

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// Links returns the Link of each item for a page at the path page. names[i] is a path
// below the folder root, or a whole path. Items that are not files, such as those of
// an archive, have no link.
func Links(page, root string, names []string) func(i int) string {
	return func(i int) string {
		path := filepath.FromSlash(names[i])
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return ""
		}
		return report.RelativeLink(page, path)
	}
}

// RootFolder returns the folder that holds the items of a data set, if they are files. The
// set is given by its folder, a manifest in it, or a name in the folder home. Root is ""
// for an address, which has no files on this machine.
func RootFolder(what, home string) string {
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

// PhotoFolder returns the Folder of a report.Map on that page: the address of root, if the
// items are files below it.
func PhotoFolder(page, root string, names []string) string {
	if len(names) == 0 || filepath.IsAbs(filepath.FromSlash(names[0])) || Links(page, root, names)(0) == "" {
		return ""
	}
	return report.RelativeLink(page, root) + "/"
}
