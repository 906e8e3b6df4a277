package main

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/CycloneDX/cyclonedx-go"
	"github.com/blakesmith/ar"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func TestBill(t *testing.T) {
	_, b := made(t)
	when := (source{}).when
	text, err := materials(b, when)
	if err != nil {
		t.Fatal(err)
	}
	again, err := materials(b, when)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("other bytes the second time (%v)", err)
	}
	var doc cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if c := doc.Metadata.Component; c.Name != "github.com/kindred-ml/kindred" || c.Version != "v0.1.0-rc.1" ||
		(*c.Hashes)[0].Value != fmt.Sprintf("%x", sha256.Sum256(b.binary)) {
		t.Errorf("it is of %+v", c)
	}
	parts := *doc.Components
	if len(parts) != 2 || parts[0].PackageURL != "pkg:golang/std@1.26.0" ||
		parts[1].PackageURL != "pkg:golang/example.org/net/v2@v2.3.4" || len((*parts[1].Hashes)[0].Value) != 64 {
		t.Errorf("made of %+v", parts)
	}
	if d := *doc.Dependencies; len(d) != 1 || len(*d[0].Dependencies) != 2 {
		t.Errorf("%+v", d)
	}
}

func TestDeb(t *testing.T) {
	r, b := made(t)
	name, content, err := r.pack(packagers[0], b)
	if err != nil {
		t.Fatal(err)
	}
	if name != "kindred_0.1.0~rc.1_amd64.deb" {
		t.Errorf("it is called %s", name)
	}
	if _, again, err := r.pack(packagers[0], b); err != nil || !bytes.Equal(content, again) {
		t.Errorf("other bytes the second time (%v)", err)
	}
	files := map[string]file{}
	for a := ar.NewReader(bytes.NewReader(content)); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".tar.gz") {
			z, err := gzip.NewReader(a)
			if err != nil {
				t.Fatal(err)
			}
			for k, f := range untar(t, z) {
				files[k] = f
			}
		}
	}
	for name, text := range map[string]string{
		"usr/bin/kindred": "program", "usr/share/zsh/vendor-completions/_kindred": "zsh",
		"usr/share/bash-completion/completions/kindred": "bash", "usr/share/doc/kindred/copyright": "terms",
		"usr/share/doc/kindred/THIRD-PARTY.txt": "thanks",
	} {
		if string(files[name].content) != text {
			t.Errorf("%s is %q", name, files[name].content)
		}
	}
	if m := files["usr/bin/kindred"].mode; m != 0o755 {
		t.Errorf("the program's mode is %v", m)
	}
	z, err := gzip.NewReader(bytes.NewReader(files["usr/share/man/man1/kindred.1.gz"].content))
	if err != nil {
		t.Fatal(err)
	}
	if page, err := io.ReadAll(z); err != nil || string(page) != ".TH KINDRED" {
		t.Errorf("the page is %q, %v", page, err)
	}
	c := string(files["control"].content)
	if !strings.Contains(c, "Package: kindred\n") || strings.Contains(c, "Depends:") {
		t.Errorf("the package says of itself:\n%s", c)
	}
}

func TestRPM(t *testing.T) {
	r, b := made(t)
	b.system.arch = "arm64"
	name, content, err := r.pack(packagers[1], b)
	if err != nil {
		t.Fatal(err)
	}
	if name != "kindred-0.1.0~rc.1-1.aarch64.rpm" || !bytes.HasPrefix(content, []byte{0xed, 0xab, 0xee, 0xdb}) {
		t.Errorf("%s begins with %x", name, content[:4])
	}
	if _, again, err := r.pack(packagers[1], b); err != nil || !bytes.Equal(content, again) {
		t.Errorf("other bytes the second time (%v)", err)
	}
}

func TestManifests(t *testing.T) {
	r, b := made(t)
	if err := r.manifests(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("manifests of nothing: %v", err)
	}
	for _, s := range systems {
		b.system = s
		if err := r.archive(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.manifests(); err != nil {
		t.Fatal(err)
	}
	sum := func(s system) string {
		content, err := os.ReadFile(filepath.Join(r.out, r.archiveFile(s)))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", sha256.Sum256(content))
	}
	text, err := os.ReadFile(filepath.Join(r.out, "kindred.rb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range systems[:4] {
		want := fmt.Sprintf("/releases/download/v0.1.0-rc.1/%s\"\n      sha256 \"%s\"", r.archiveFile(s), sum(s))
		if !strings.Contains(string(text), want) {
			t.Errorf("the formula has no %s:\n%s", want, text)
		}
	}
	if text, err = os.ReadFile(filepath.Join(r.out, "kindred.json")); err != nil {
		t.Fatal(err)
	}
	var m struct {
		Version      string
		Architecture map[string]asset
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if a := m.Architecture["arm64"]; m.Version != "0.1.0-rc.1" || a.Sum != sum(systems[5]) ||
		a.Dir != "kindred-v0.1.0-rc.1-windows-arm64" {
		t.Errorf("the manifest is %s", text)
	}
}

// TestImage: the image has a program for each processor, runs it as somebody who is not root,
// and is set up as the Dockerfile says.
func TestImage(t *testing.T) {
	r, b := made(t)
	other, windows := b, b
	other.system.arch, windows.system.os = "arm64", "windows"
	if err := r.image([]build{b, other, windows}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(r.out, "kindred-v0.1.0-rc.1-image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	for name, f := range untar(t, f) {
		if f.mode.IsDir() {
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), f.content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	docker, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		if p := m.Manifests[i].Platform; p.OS != "linux" || p.Architecture != arch {
			t.Errorf("image %d is for %v", i, p)
		}
		img, err := index.Image(m.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := cfg.Config
		for _, line := range []string{"USER " + c.User, `ENTRYPOINT ["` + strings.Join(c.Entrypoint, `", "`) + `"]`,
			"ENV " + strings.Join(c.Env, " "), "VOLUME /cache"} {
			if !strings.Contains(string(docker), line+"\n") {
				t.Errorf("the Dockerfile has no %q", line)
			}
		}
		if _, ok := c.Volumes["/cache"]; !ok || cfg.Architecture != arch {
			t.Errorf("%+v for %s", c, cfg.Architecture)
		}
		files := untar(t, mutate.Extract(img))
		if string(files["kindred"].content) != "program" || files["kindred"].mode != 0o755 {
			t.Errorf("the program is %v", files["kindred"])
		}
		if m := files["cache"].mode; m&os.ModeSticky == 0 || m.Perm() != 0o777 {
			t.Errorf("the mode of /cache is %v", m)
		}
		certificates := files["etc/ssl/certs/ca-certificates.crt"].content
		if block, _ := pem.Decode(certificates); block == nil || bytes.Count(certificates, []byte("BEGIN")) < 50 {
			t.Errorf("the certificates are %.100s", certificates)
		}
	}
}

// TestTags: what is left out of a release is left out of other builds.
func TestTags(t *testing.T) {
	for name, want := range map[string]string{
		"Dockerfile": "go build -trimpath -tags " + tags + " ", "Makefile": "TAGS = " + tags + "\n",
	} {
		text, err := os.ReadFile("../../" + name)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q (%v)", name, want, err)
		}
	}
}

// TestDescribed: no version is released that nothing was written about.
func TestDescribed(t *testing.T) {
	dir := t.TempDir()
	says := func(version, want string) {
		t.Helper()
		if err := described(dir, version); want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666))
		if err != nil {
			t.Fatal(err)
		}
	}
	says("v1.2.0", "CHANGELOG.md")
	write("CHANGELOG.md", "# Changes\n\n## [1.2.0]\n")
	says("v1.2.1", "no section [1.2.1]")
	says("v1.2.0", "no notes")
	write("docs/releases/v1.2.0.md", "")
	says("v1.2.0", "no notes")
	write("docs/releases/v1.2.0.md", "What is new.")
	says("v1.2.0", "")
	says("v1.2.1-rc.1", "")
}

func TestSums(t *testing.T) {
	r, _ := made(t)
	t.Setenv(keyVariable, "")
	var said bytes.Buffer
	r.log = &said
	if err := errors.Join(r.write("b", []byte("2")), r.write("a", []byte("1")), r.sums()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, sumsFile))
	want := fmt.Sprintf("%x  a\n%x  b\n", sha256.Sum256([]byte("1")), sha256.Sum256([]byte("2")))
	if err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
	if !strings.Contains(said.String(), "not signed") {
		t.Errorf("it says nothing of the missing key: %s", &said)
	}
}

// TestSignature: what a key signs, its public half verifies; without a key, an old signature
// goes.
func TestSignature(t *testing.T) {
	public, secret, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := secret.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := made(t)
	t.Setenv(keyVariable, key)
	if err := errors.Join(r.write("a", []byte("1")), r.sums()); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := os.ReadFile(filepath.Join(r.out, sumsFile+".minisig"))
	if err != nil {
		t.Fatal(err)
	}
	if !minisign.Verify(public, sums, signature) || minisign.Verify(public, append(sums, '\n'), signature) {
		t.Errorf("the signature does not tell what was signed:\n%s", signature)
	}
	t.Setenv(keyVariable, "")
	r.written = []string{"a"}
	if err := r.sums(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(r.out, sumsFile+".minisig")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old signature stays: %v", err)
	}
	t.Setenv(keyVariable, key+"2")
	r.written = []string{"a"}
	if err := r.sums(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), keyVariable) {
		t.Errorf("no such key: %v", err)
	}
}

// TestLockedKey: a key opens with its password, and another one is an error that says where
// the password comes from. Minisign derives keys in seconds of a processor.
func TestLockedKey(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	_, secret, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := minisign.EncryptKey("open", secret)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := secretKey(path, "open"); err != nil || !got.Equal(secret) {
		t.Errorf("the key does not open: %v", err)
	}
	if _, err := secretKey(path, "shut"); err == nil || !strings.Contains(err.Error(), passwordVariable) {
		t.Errorf("a wrong password: %v", err)
	}
}
