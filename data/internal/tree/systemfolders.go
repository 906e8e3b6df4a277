package tree

import (
	"regexp"
	"slices"
	"strings"
)

// InSystemFolder is the reason for leaving out images in folders of systems and programs.
const InSystemFolder = "in a folder of a system or program, for thumbnails, deleted files or copies"

// systemFolders returns the names, in lower case, of folders that systems and programs make among photos.
func systemFolders() []string {
	return []string{
		"@eadir", "#recycle", "#snapshot", "@tmp", "@sharebin", // Synology
		"@recycle", "@recently-snapshot", ".@__thumb", "@__thumb", ".@upload_cache", // QNAP
		"~snapshot", ".snapshot", // NetApp
		"$recycle.bin", "recycler", "recycled", "recycle bin", "system volume information", // Windows
		".trashes", ".spotlight-v100", ".fseventsd", ".temporaryitems", ".appledouble", // macOS
		"network trash folder", "temporary items",
		"lost+found", ".thumbnails", ".ipynb_checkpoints", "__pycache__",
		".picasaoriginals", ".dtrash", ".stversions", // Picasa, digiKam, Syncthing
	}
}

// numberedSystemFolder matches the trash of a user on Linux, and folders of files that Windows recovered.
var numberedSystemFolder = regexp.MustCompile(`^(\.trash(-\d+)?|found\.\d{3})$`)

// isSystemFolder reports whether a folder with this name belongs to a system or a program. The folders of
// Lightroom's previews begin with the catalogue's name.
func isSystemFolder(folder string) bool {
	folder = strings.ToLower(folder)
	return slices.Contains(systemFolders(), folder) || strings.HasSuffix(folder, ".lrdata") ||
		numberedSystemFolder.MatchString(folder)
}

// IsInSystemFolder reports whether a file lies in a folder of a system or a program, at any depth.
func IsInSystemFolder(file string) bool {
	parts := strings.Split(file, "/")
	return slices.ContainsFunc(parts[:len(parts)-1], isSystemFolder)
}
