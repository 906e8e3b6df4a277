package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Permission is what a key may do. The right to write includes the right to read.
type Permission int

// The rights.
const (
	Read Permission = iota
	Write
)

// String returns read or write.
func (r Permission) String() string {
	if r == Write {
		return "write"
	}
	return "read"
}

// ParsePermission reads what String returns.
func ParsePermission(s string) (Permission, error) {
	switch s {
	case "read":
		return Read, nil
	case "write":
		return Write, nil
	}
	return 0, fmt.Errorf("right %q: must be read or write", s)
}

// NewKey makes a key of 256 random bits, and the line for it in a file of keys,
// which holds only its SHA-256: whoever reads the file cannot use the key.
func NewKey(name string, right Permission) (key, line string, err error) {
	if !collectionNameForm.MatchString(name) {
		return "", "", fmt.Errorf("the name of a key is %q: must be letters, digits, dots, dashes and underscores",
			name)
	}
	b := make([]byte, 32)
	rand.Read(b)
	key = "kindred_" + base64.RawURLEncoding.EncodeToString(b)
	sum := sha256.Sum256([]byte(key))
	return key, fmt.Sprintf("%s %s %s", name, right, hex.EncodeToString(sum[:])), nil
}

// AppendKey appends a line of NewKey to a file of keys. If the file is missing, it makes one that only
// its owner can read.
func AppendKey(file, line string) (err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if st, err := f.Stat(); err == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, st.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	if _, err := io.WriteString(f, line+"\n"); err != nil {
		return err
	}
	return f.Sync()
}

// keyEntry is one line of a file of keys.
type keyEntry struct {
	name  string
	right Permission
	sum   [sha256.Size]byte
}

// Keys has the keys of a file and follows its changes. A line has the name, the right and the
// SHA-256 of a key, as NewKey writes them; # begins a comment. If a changed file has
// invalid lines, the other lines are used, and the log names the first invalid one.
// Removing a line always revokes its key, and removing the file revokes all keys.
type Keys struct {
	*watchedFiles[[]keyEntry]
}

// OpenKeys reads a file of keys. A file without keys is an error.
func OpenKeys(path string) (*Keys, error) {
	k := &Keys{&watchedFiles[[]keyEntry]{paths: []string{path}, maxBytes: maxWatchedBytes, strict: true}}
	k.load = func(files []fileContent) ([]keyEntry, error) {
		if err := files[0].err; err != nil {
			return nil, err
		}
		return parseKeys(path, string(files[0].text))
	}
	if err := k.open(); err != nil {
		return nil, err
	}
	return k, nil
}

// parseKeys returns the keys whose lines can be read, and the first error of the others.
func parseKeys(path, text string) ([]keyEntry, error) {
	var keys []keyEntry
	var first error
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		e, err := parseKey(f)
		if err == nil {
			keys = append(keys, e)
		} else if first == nil {
			first = fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	if len(keys) == 0 && first == nil {
		first = fmt.Errorf("%s has no keys: 'kindred serve key' makes one", path)
	}
	return keys, first
}

// parseKey reads the words of a line.
func parseKey(f []string) (keyEntry, error) {
	if len(f) != 3 {
		return keyEntry{}, errors.New("must be NAME read|write SHA-256; 'kindred serve key' writes such lines")
	}
	right, err := ParsePermission(f[1])
	if err != nil {
		return keyEntry{}, err
	}
	e := keyEntry{name: f[0], right: right}
	if n, err := hex.Decode(e.sum[:], []byte(f[2][:min(len(f[2]), 2*len(e.sum))])); err != nil || n != len(e.sum) ||
		len(f[2]) != 2*len(e.sum) {
		return keyEntry{}, errors.New("the third word is not a SHA-256 in hexadecimal: the file has the SHA-256 of " +
			"a key, not the key itself")
	}
	return e, nil
}

// find returns the name and the right of a key. Its time depends only on the number of keys, not on
// which key it is or how much of a key was guessed.
func (k *Keys) find(key string) (name string, right Permission, ok bool) {
	sum := sha256.Sum256([]byte(key))
	for _, e := range k.get() {
		if subtle.ConstantTimeCompare(sum[:], e.sum[:]) == 1 {
			name, right, ok = e.name, e.right, true
		}
	}
	return name, right, ok
}
