package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// runner is the user of the image: not root, without a name and without files of its own.
const runner = "65532:65532"

// image writes the container image of the builds for Linux, as an archive in OCI's layout with
// one image for each processor: kindred-VERSION-image.tar. The Dockerfile builds the same
// image from source.
func (r *release) image(built []build) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	n := 0
	for _, b := range built {
		if b.system.os != "linux" {
			continue
		}
		img, err := r.imageOf(b)
		if err != nil {
			return fmt.Errorf("%v: the image: %w", b.system, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform:    &v1.Platform{OS: b.system.os, Architecture: b.system.arch},
			Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version},
		}})
		n++
	}
	if n == 0 {
		return nil
	}
	dir := filepath.Join(r.work, "image")
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	files, err := tree(dir)
	if err != nil {
		return err
	}
	content, err := tape(files, r.source.when)
	if err != nil {
		return err
	}
	return r.write("kindred-"+r.version+"-image.tar", content)
}

// imageOf returns the image of one build, with one layer.
func (r *release) imageOf(b build) (v1.Image, error) {
	content, err := tape(rootFiles(b), r.source.when)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		return nil, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Created = b.system.os, b.system.arch, v1.Time{Time: r.source.when}
	cfg.History = []v1.History{{Created: cfg.Created, CreatedBy: "make release VERSION=" + r.version}}
	cfg.Config = v1.Config{
		User: runner, Entrypoint: []string{"/kindred"}, Env: []string{"XDG_CACHE_HOME=/cache", "TMPDIR=/cache"},
		Volumes: map[string]struct{}{"/cache": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "kindred", "org.opencontainers.image.description": summary,
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.licenses": terms,
			"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.source.commit,
		},
	}
	return mutate.ConfigFile(img, cfg)
}

// rootFiles returns the files of the image: the program, the certificate authorities for trust
// in other hosts, and a folder for caches that every user may write.
func rootFiles(b build) []file {
	return []file{
		{"kindred", 0o755, b.binary},
		{"licenses/THIRD-PARTY.txt", 0o644, b.notice},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
		{"cache", fs.ModeDir | fs.ModeSticky | 0o777, nil},
	}
}

// authorities returns Mozilla's certificate authorities from golang.org/x/crypto. Authorities that
// are trusted under a further condition are left out, because a list of certificates cannot state it.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// tree reads the files below a folder.
func tree(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, file{filepath.ToSlash(name), 0o644, content})
		return err
	})
	return files, err
}
