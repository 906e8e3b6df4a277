package natsserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/kindred-ml/kindred/internal/base/lock"
)

func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "queue")
	if _, err := URL(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before there is one: %v", err)
	}
	s, err := Serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	url := s.URL()
	if told, err := URL(dir); told != url || err != nil {
		t.Errorf("%s, %v; want %s", told, err, url)
	}
	var held *lock.HeldError
	if _, err := Serve(dir); !errors.As(err, &held) {
		t.Errorf("served twice: %v", err)
	}
	c, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if c, err := nats.Connect("nats://" + url[strings.Index(url, "@")+1:]); err == nil {
		c.Close()
		t.Error("anybody gets in")
	}
	if info, err := os.Stat(filepath.Join(dir, addressFile)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Serve(dir); err != nil || s.URL() != url {
		t.Fatalf("the second time: %v, %v", s, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestServeNot: folders that are no queue's, and damaged ones, are left as they are.
func TestServeNot(t *testing.T) {
	for name, text := range map[string]string{"photo.jpg": "x", addressFile: `{"port": 99999}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if s, err := Serve(dir); err == nil {
			s.Close()
			t.Errorf("%s is served", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Error(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}
