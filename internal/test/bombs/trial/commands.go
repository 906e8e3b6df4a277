package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/test/bombs"
)

// sound are files that are not hostile, one of each format. What a command takes for them it takes for any file.
var sound = func() (names []string) {
	for _, f := range imaging.FileFormats() {
		names = append(names, "sound"+f.Extensions[0])
	}
	return names
}()

// trial has the folders of a trial, and counts the values beyond their bounds.
type trial struct {
	options
	work    string                   // the folder of run, photos and index
	hostile string                   // the folder of the hostile files
	photo   []byte                   // the sound photo
	usual   map[string]time.Duration // work for a sound file, by column and format
	beyond  int
}

// prepare trains a small run on a few photos and makes an index of them.
func (t *trial) prepare(ctx context.Context) error {
	for i := range 18 {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, photo(i), nil); err != nil {
			return err
		}
		t.photo = b.Bytes()
		path := filepath.Join(t.work, "photos", fmt.Sprintf("c%d", i%3), fmt.Sprintf("%d.jpg", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, t.photo, 0o666); err != nil {
			return err
		}
	}
	for _, line := range []string{
		"train --data photos --out run --set data.split=images:0.3 --set train.epochs=1 --set network.name=mlp " +
			"--set network.width=8 --set data.size=32",
		"index create run photos --out photos.index",
	} {
		cmd := exec.CommandContext(ctx, t.kindred, strings.Fields(line)...)
		cmd.Dir = t.work
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kindred %s: %w\n%s", line, err, out)
		}
	}
	for _, name := range sound {
		ext := filepath.Ext(name)
		like := map[string]string{".jpg": "jpeg-444.jpg", ".heic": "heic-tile0.heic", ".png": "source.png",
			".tif": "tiff.tif", ".pnm": "pnm.ppm"}[ext]
		if like == "" {
			like = ext[1:] + ext
		}
		if err := os.WriteFile(filepath.Join(t.hostile, name), bombs.Picture("formats/"+like), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// photo returns a picture of two colours.
func photo(i int) image.Image {
	im := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			im.Set(x, y, color.RGBA{uint8(80 * (i % 3)), uint8(20*i + x), uint8(y * (1 + i%3)), 255})
		}
	}
	return im
}

// measured is what a process took.
type measured struct {
	peak   int64 // of resident memory, in bytes
	work   time.Duration
	status string // ok, an exit status, or why it was ended
	said   string
}

// run runs a command line in the trial's folder, until it ends, takes too long or takes too much memory.
func (t *trial) run(ctx context.Context, args ...string) (m measured, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.kindred, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.work, &out, &out
	if err := cmd.Start(); err != nil {
		return m, err
	}
	ended := make(chan struct{})
	tooLarge := make(chan bool, 1)
	go func() { tooLarge <- endRunaway(cmd.Process, ended) }()
	err = cmd.Wait()
	close(ended)
	m = measured{peak: peak(cmd.ProcessState), work: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		status: "ok", said: out.String()}
	switch {
	case <-tooLarge:
		m.status = "memory"
	case ctx.Err() != nil:
		m.status = "time"
	case err != nil:
		m.status = fmt.Sprint(cmd.ProcessState.ExitCode())
	}
	return m, nil
}

// endRunaway ends a process that has too much memory, and reports whether it did.
func endRunaway(p *os.Process, ended chan struct{}) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return false
		case <-tick.C:
			if resident(p.Pid) > runaway {
				return p.Kill() == nil
			}
		}
	}
}

// ends are the ends of a command that names the files it cannot read.
var ends = []string{"ok", "1", "3"}

// head prints the heads of the columns.
func (t *trial) head() {
	fmt.Printf("%-34s %9s", "file", "bytes")
	for _, c := range t.columns() {
		fmt.Printf(" | %-26s", c.title)
	}
	if strings.Contains(t.kinds, "serve") {
		fmt.Printf(" | server: MiB, s, answers, alive, healthz ms, sound photo")
	}
	fmt.Println()
}

// column is a command that is tried, with a limit in MiB.
type column struct {
	title, kind string
	memory      int64
	args        func(name string) []string
}

func (t *trial) columns() []column {
	var columns []column
	add := func(kind string, memory int64, args func(name string) []string) {
		if strings.Contains(t.kinds, kind) {
			columns = append(columns, column{fmt.Sprintf("%s %d: MiB, s", kind, memory), kind, memory, args})
		}
	}
	folder := func(name string) string { return filepath.Join(t.work, "folder", name) }
	search := func(name string) []string {
		return []string{"search", filepath.Join(t.hostile, name), "--run", "run", "--in", "photos"}
	}
	add("search", 256, search)
	add("search", 512, search)
	add("info", 256, func(name string) []string { return []string{"data", "info", folder(name)} })
	add("sync", 256, func(name string) []string {
		return []string{"index", "sync", folder(name), "--index", filepath.Join(t.work, "copy.index"), "--prefix", "h/"}
	})
	return columns
}

// file tries a file and prints its row.
func (t *trial) file(ctx context.Context, name string) error {
	b, err := os.ReadFile(filepath.Join(t.hostile, name))
	if err != nil {
		return err
	}
	fmt.Printf("%-34s %9d", name, len(b))
	defer fmt.Println()
	// A folder with a class of a hostile and of a sound photo.
	folder := filepath.Join(t.work, "folder", name)
	for path, b := range map[string][]byte{"c0/" + name: b, "c0/b.jpg": t.photo} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			return err
		}
	}
	defer os.RemoveAll(folder)
	refused := false
	for _, c := range t.columns() {
		if c.kind == "sync" {
			index := filepath.Join(t.work, "copy.index")
			if err := os.RemoveAll(index); err != nil {
				return err
			}
			if err := os.CopyFS(index, os.DirFS(filepath.Join(t.work, "photos.index"))); err != nil {
				return err
			}
		}
		m, err := t.run(ctx, append(c.args(name), "--memory", fmt.Sprintf("%dMiB", c.memory))...)
		if err != nil {
			return err
		}
		if c.kind == "search" {
			refused = m.status != "ok"
		}
		key := c.title + filepath.Ext(name)
		if slices.Contains(sound, name) {
			t.usual[key] = m.work
		}
		status := m.status
		if refused && slices.Contains(ends, status) && !strings.Contains(m.said, name) {
			status = "unnamed"
		}
		most := mostPeak * float64(c.memory<<20)
		fmt.Printf(" | %6d%s %7.2f%s %-9s", m.peak>>20, t.mark(float64(m.peak) > most), m.work.Seconds(),
			t.mark(m.work > t.usual[key]+mostWork), status+t.mark(!slices.Contains(ends, status)))
	}
	if strings.Contains(t.kinds, "serve") {
		return t.serve(ctx, b)
	}
	return nil
}

// mark marks a value, and counts it if it is beyond its bound.
func (t *trial) mark(beyond bool) string {
	if beyond {
		t.beyond++
		return "!"
	}
	return " "
}
