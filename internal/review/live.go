package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"

	"github.com/kindred-ml/kindred/internal/regular"
)

// FileName is what a page is called in the folder of those who write one.
const FileName = "review.html"

// Live is the page that a server shows: without data, which its script asks for.
func Live() ([]byte, error) { return fill(map[string]any{"Title": "Review", "Lead": "", "Live": true}) }

// Saved is a page read from its file.
type Saved struct {
	File        string
	Title, Lead string
	// Key tells pages apart: the same data have the same.
	Key string
	// Data is what the script reads, as JSON, and Cards how many decisions it asks for.
	Data  json.RawMessage
	Cards int
}

// written is how HTML writes what a server takes from a page.
var written = regexp.MustCompile(`(?s)<h1[^>]*>(.*?)</h1>.*?<p id="lead">(.*?)</p>.*?<script type="application/json" ` +
	`id="data" data-key="(` + keyStart + `[0-9a-f]{16})">(.*?)</script>`)

// Read reads the page that is the file path, or that lies in the folder path.
func Read(path string) (*Saved, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		path = filepath.Join(path, FileName)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	text, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	bad := func(why error) error {
		return fmt.Errorf("%s is no page of kindred discover or kindred clean: %w", path, why)
	}
	m := written.FindSubmatch(text)
	if m == nil {
		return nil, bad(errors.New("it lacks the data of such a page"))
	}
	s := &Saved{File: path, Title: html.UnescapeString(string(m[1])), Lead: html.UnescapeString(string(m[2])),
		Key: string(m[3]), Data: bytes.TrimSpace(m[4])}
	var d pageData
	if err := json.Unmarshal(s.Data, &d); err != nil {
		return nil, bad(err)
	}
	if len(d.Label) != len(d.Paths) {
		return nil, bad(fmt.Errorf("%d labels of %d items", len(d.Label), len(d.Paths)))
	}
	s.Cards = len(d.Cards)
	return s, nil
}
