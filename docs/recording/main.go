// Command recording runs the three commands of README on a folder of photos. It writes
// their output, with its times, and the found photos as a film: an SVG file that a page
// shows as a picture.
//
//	go run ./docs/recording -kindred bin/kindred -photos DIR -out docs/recording.svg
//
// Without -photos the folder is 2,000 photos of clothes, 200 of each of ten classes,
// from Fashion-MNIST (MIT licence) as Debian's package dataset-fashion-mnist has it.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

func main() {
	kindred := flag.String("kindred", "bin/kindred", "kindred program to run")
	photos := flag.String("photos", "", "folder of photos, one folder a class; default: clothes")
	photo := flag.String("photo", "", "query photo; default: a photo that is not in the folder")
	out := flag.String("out", "docs/recording.svg", "file to write")
	flag.Parse()
	if err := record(*kindred, *photos, *photo, *out); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// commands are the commands of README; a test compares them.
var commands = []string{
	"kindred train --data photos/ --out runs/photos",
	"kindred search photo.jpg --run runs/photos --in photos/ --out found",
	"kindred report runs/photos",
}

func record(kindred, photos, photo, out string) error {
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if photos == "" {
		err = writeClothes(dir)
	} else {
		err = copyPhotos(dir, photos, photo)
	}
	if err != nil {
		return err
	}
	bin, err := filepath.Abs(kindred)
	if err != nil {
		return err
	}
	var s session
	for _, c := range commands {
		done, err := watch(dir, bin, c)
		if err != nil {
			return err
		}
		s.commands = append(s.commands, done)
	}
	if s.sheet, err = readSheet(filepath.Join(dir, "found", "search.png")); err != nil {
		return err
	}
	return atomic.WriteFile(out, func(w io.Writer) error { return s.write(w) })
}

// copyPhotos copies the user's photos to the place where the commands read them.
func copyPhotos(dir, photos, photo string) error {
	if photo == "" {
		return errors.New("-photo is missing: give the query photo")
	}
	if err := os.CopyFS(filepath.Join(dir, "photos"), os.DirFS(photos)); err != nil {
		return err
	}
	b, err := os.ReadFile(photo)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "photo.jpg"), b, 0o666)
}

// session is the recorded session.
type session struct {
	commands []command
	sheet    []byte // the search's results, as JPEG
}

// command is a command line with what it printed.
type command struct {
	line   string
	output []printedLine
	took   time.Duration
}

// printedLine is a line of output and its time.
type printedLine struct {
	after time.Duration
	text  string
}

// watch runs a command and records each line of its output.
func watch(dir, kindred, line string) (command, error) {
	words := strings.Fields(line)
	cmd := exec.Command(kindred)
	cmd.Args = words // the program's advice then repeats the command as it was typed
	cmd.Dir = dir
	read, write, err := os.Pipe()
	if err != nil {
		return command{}, err
	}
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	start := time.Now()
	err = cmd.Start()
	write.Close()
	if err != nil {
		return command{}, err
	}
	c := command{line: line}
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		text := strings.ReplaceAll(lines.Text(), dir+string(filepath.Separator), "")
		c.output = append(c.output, printedLine{time.Since(start), text})
		fmt.Println(text)
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		return c, fmt.Errorf("%s: %w", line, err)
	}
	c.took = time.Since(start)
	return c, nil
}
