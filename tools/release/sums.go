package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"aead.dev/minisign"
)

// Environment variables for the signature.
const (
	keyVariable      = "KINDRED_SIGNING_KEY"      // file of a secret key of minisign
	passwordVariable = "KINDRED_SIGNING_PASSWORD" // password of that file, if it is encrypted
)

// sumsFile lists the SHA-256 of every other file in the format of sha256sum -c.
const sumsFile = "SHA256SUMS"

// sums writes SHA256SUMS of the written files and, with a key, SHA256SUMS.minisig.
func (r *release) sums() error {
	slices.Sort(r.written)
	var b bytes.Buffer
	for _, name := range r.written {
		content, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), name)
	}
	if err := r.write(sumsFile, b.Bytes()); err != nil {
		return err
	}
	signature := filepath.Join(r.out, sumsFile+".minisig")
	if err := os.Remove(signature); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // an older signature would not match
	}
	path := os.Getenv(keyVariable)
	if path == "" {
		_, err := fmt.Fprintf(r.log, "not signed: set %s to the file of a secret key of minisign\n", keyVariable)
		return err
	}
	key, err := secretKey(path, os.Getenv(passwordVariable))
	if err != nil {
		return err
	}
	return r.write(filepath.Base(signature), minisign.SignWithComments(key, b.Bytes(),
		"kindred "+r.version+" "+sumsFile, "signature of kindred "+r.version))
}

// secretKey reads a secret key, which may be encrypted.
func secretKey(path, password string) (minisign.PrivateKey, error) {
	var key minisign.PrivateKey
	text, err := os.ReadFile(path)
	if err != nil {
		return key, fmt.Errorf("%s: %w", keyVariable, err)
	}
	if minisign.IsEncrypted(text) {
		if key, err = minisign.DecryptKey(password, text); err != nil {
			return key, fmt.Errorf("%s: %s does not open with the password in %s: %w", keyVariable, path,
				passwordVariable, err)
		}
		return key, nil
	}
	if err := key.UnmarshalText(text); err != nil {
		return key, fmt.Errorf("%s: %s: %w", keyVariable, path, err)
	}
	return key, nil
}
