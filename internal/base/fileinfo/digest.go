package fileinfo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
)

// Digest returns the SHA-256 of the content of a regular file, in hexadecimal digits.
func Digest(path string) (string, error) {
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}
