package main

import (
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// choosePhotos copies up to each photos of every class into work/photos, and one more to
// work/photo.jpg.
func choosePhotos(from, work string, each int) error {
	files, err := filepath.Glob(filepath.Join(from, "*", "*"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	taken := map[string]int{}
	asked := false
	for _, file := range files {
		class := filepath.Base(filepath.Dir(file))
		to := filepath.Join(work, "photos", class, filepath.Base(file))
		switch {
		case taken[class] < each:
			taken[class]++
		case !asked:
			asked, to = true, filepath.Join(work, "photo.jpg")
		default:
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.WriteFile(to, content, 0o666)); err != nil {
			return err
		}
	}
	if len(taken) < 2 || !asked {
		return fmt.Errorf("-photos %q: needs a folder for each class, one with more than %d photos", from, each)
	}
	return nil
}

// run runs the commands in a folder. A command that serves runs until stop is called.
func run(kindred, work string, commands []string) (stop func(), err error) {
	ctx, stop := context.WithCancel(context.Background())
	if kindred, err = filepath.Abs(kindred); err != nil {
		return stop, err
	}
	path := "PATH=" + filepath.Dir(kindred) + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, line := range commands {
		fmt.Println("$", line)
		cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+line)
		cmd.Dir, cmd.Env = work, append(os.Environ(), path)
		cmd.Stderr = os.Stderr
		if !strings.HasPrefix(line, "kindred serve ") {
			if err := cmd.Run(); err != nil {
				return stop, fmt.Errorf("%s: %w", line, err)
			}
			continue
		}
		if err := cmd.Start(); err != nil {
			return stop, fmt.Errorf("%s: %w", line, err)
		}
		time.Sleep(3 * time.Second)
	}
	return stop, nil
}

// take opens a page in the browser and keeps a screenshot.
func (s shot) take(browser, work, to string) error {
	address := s.address
	if !strings.Contains(address, "://") {
		file := filepath.Join(work, filepath.FromSlash(address))
		if _, err := os.Stat(file); err != nil {
			return err
		}
		address = "file://" + filepath.ToSlash(file)
	}
	seen := filepath.Join(work, "seen.png")
	out, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--virtual-time-budget=20000",
		fmt.Sprintf("--window-size=%d,%d", s.width, s.height), "--user-data-dir="+filepath.Join(work, "browser"),
		"--screenshot="+seen, address).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s of %s: %w: %s", browser, address, err, out)
	}
	file, err := os.Open(seen)
	if err != nil {
		return fmt.Errorf("%s wrote no picture of %s: %w: %s", browser, address, err, out)
	}
	img, err := png.Decode(file)
	if err = errors.Join(err, file.Close(), os.Remove(seen)); err != nil {
		return err
	}
	return atomic.WriteFile(to, func(w io.Writer) error { return jpeg.Encode(w, img, &jpeg.Options{Quality: 80}) })
}
