// Package archives makes archives for tests, of members that are names and contents in turns.
package archives

import (
	"archive/tar"
	"bytes"
	"testing"
)

// Tar returns a tar file. A content is a string or bytes.
func Tar(t testing.TB, members ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		content, ok := members[i+1].([]byte)
		if !ok {
			content = []byte(members[i+1].(string))
		}
		if err := w.WriteHeader(&tar.Header{Name: members[i].(string), Size: int64(len(content)), Mode: 0o644,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
