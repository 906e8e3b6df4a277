package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"text/template"
)

// manifests writes the files by which Homebrew and Scoop install kindred: kindred.rb and kindred.json.
func (r *release) manifests() error {
	formula, err := r.formula()
	if err != nil {
		return err
	}
	if err := r.write("kindred.rb", formula); err != nil {
		return err
	}
	manifest, err := r.scoop()
	if err != nil {
		return err
	}
	return r.write("kindred.json", manifest)
}

// asset is the entry of an archive in a manifest.
type asset struct {
	URL string `json:"url"`
	Sum string `json:"hash"`
	Dir string `json:"extract_dir"`
}

// asset returns the entry of a system's archive, which must have been written.
func (r *release) asset(s system) (asset, error) {
	content, err := os.ReadFile(filepath.Join(r.out, r.archiveFile(s)))
	if err != nil {
		return asset{}, err
	}
	sum := sha256.Sum256(content)
	return asset{homepage + "/releases/download/" + r.version + "/" + r.archiveFile(s), hex.EncodeToString(sum[:]),
		r.archiveName(s)}, nil
}

var formula = template.Must(template.New("formula").Parse(`class Kindred < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "{{.Terms}}"
{{range .Groups}}
  on_{{.Name}} do{{range .Assets}}
    on_{{.Name}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end{{end}}
  end
{{end}}
  def install
    bin.install "kindred"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/kindred.bash" => "kindred"
    zsh_completion.install "completions/kindred.zsh" => "_kindred"
    fish_completion.install "completions/kindred.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kindred --version")
  end
end
`))

// formula returns the formula for Homebrew, on macOS and Linux.
func (r *release) formula() ([]byte, error) {
	type named struct {
		Name string
		asset
	}
	type group struct {
		Name   string
		Assets []named
	}
	var groups []group
	for _, g := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		var list []named
		for _, p := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			a, err := r.asset(system{g[1], p[1]})
			if err != nil {
				return nil, err
			}
			list = append(list, named{p[0], a})
		}
		groups = append(groups, group{g[0], list})
	}
	var b bytes.Buffer
	err := formula.Execute(&b, map[string]any{"Summary": summary, "Homepage": homepage, "Version": r.plain(),
		"Terms": terms, "Groups": groups})
	return b.Bytes(), err
}

// scoop returns the manifest for Scoop, on Windows.
func (r *release) scoop() ([]byte, error) {
	type architectures struct {
		X64 asset `json:"64bit"`
		Arm asset `json:"arm64"`
	}
	var a architectures
	var err error
	if a.X64, err = r.asset(system{"windows", "amd64"}); err != nil {
		return nil, err
	}
	if a.Arm, err = r.asset(system{"windows", "arm64"}); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(struct {
		Version      string        `json:"version"`
		Description  string        `json:"description"`
		Homepage     string        `json:"homepage"`
		License      string        `json:"license"`
		Architecture architectures `json:"architecture"`
		Bin          string        `json:"bin"`
	}{r.plain(), summary, homepage, terms, a, "kindred.exe"}, "", "    ")
	return append(text, '\n'), err
}
