package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/page/review"
)

// bombLimit is the limit on memory of a command that reads a bomb, and maxPeak how many times that it may
// have resident at most: the program itself is in it.
const (
	bombLimit = 256 << 20
	maxPeak   = 1.4
)

// bombs are command lines, by command, whose input takes far more memory than its bytes, or would if all of
// it were held. A word that names a file of bombFiles has it written before. Behind the arrow stands what the
// command says; "" is a success. A command that is new stands here or in commandsWithoutFiles.
var bombs = map[string][]string{
	"apply": {"apply review --script s.sh -> needs more"},
	"calibrate": {"calibrate some.csv -> too few", "calibrate many.csv -> needs more",
		"calibrate field.csv -> a row of more than"},
	"clean": {"clean some.csv --out out -> needs", "clean many.csv --out out -> needs"},
	"data info": {"data info label.zip -> a row of more than", "data info rows.zip -> more than",
		"data info names.csv -> more than", "data info deep.json.zip -> no known layout"},
	"diagnose": {"diagnose some.csv -> one row each", "diagnose many.csv -> needs more"},
	"discover": {"discover matrix.npy --labels of.csv --out out4 -> needs",
		"discover wide.npy --out out -> at most 1048576",
		"discover some.csv --out out -> needs", "discover many.csv --out out -> needs"},
	"embed": {"embed run label.zip --out e.csv -> a row of more than", "embed run rows.zip --out e.csv -> more than",
		"embed header.safetensors photos --out e.csv -> weights but no network"},
	"eval": {"eval --embeddings some.csv -> no query has a positive", "eval --embeddings many.csv -> needs more",
		"eval --embeddings field.csv -> a row of more than",
		"eval --embeddings rows.csv -> needs more", "eval --embeddings claims.npy -> truncated",
		"eval --embeddings texts.npz -> needs", "eval --embeddings header.safetensors -> the header: needs",
		"eval --embeddings small.csv --labels many.csv -> needs more",
		"eval --embeddings small.csv --pairs pairs.csv -> needs more"},
	"export": {"export --network header.safetensors --out net.onnx -> weights but no network",
		"export long --out net.onnx -> at most"},
	"identify": {"identify photo.png --run strangers --in photos -> at most 16 MiB",
		"identify photo.png --run objects --in photos -> needs more"},
	"index add": {"index add I --embeddings some.csv -> adding 1200000 items",
		"index add I --embeddings many.csv -> needs more"},
	"index create": {"index create --embeddings matrix.npy --out I5 -> needs",
		"index create --embeddings some.csv --out I4 -> adding 1200000 items",
		"index create --embeddings many.csv --out I3 -> needs more",
		"index create --embeddings field.csv --out I2 -> a row of more than"},
	"index check":  {"index check manifest -> at most 32 MiB"},
	"index export": {"index export manifest - -> at most 32 MiB"},
	"index info":   {"index info manifest -> at most 32 MiB"},
	"index list":   {"index list manifest -> at most 32 MiB"},
	"init":         {"init rows.zip --out run2.yaml -> more than"},
	"loss":         {"loss --embeddings many.csv -> needs", "loss --embeddings field.csv -> a row of more than"},
	"map": {"map --embeddings matrix.npy --method pca --out out3 -> ",
		"map --embeddings many.csv --out out -> needs",
		"map --embeddings field.csv --out out -> a row of more than"},
	"neighbours": {"neighbours --embeddings many.csv --out out -> needs"},
	"network show": {"network show header.safetensors -> the header: needs",
		"network show zeros.onnx -> needs 300 MiB"},
	"quantize": {"quantize long --data photos --out out -> at most"},
	"report":   {"report metrics -> at most 64 MiB"},
	"search": {"search photo.png --run run --in rows.zip -> more than",
		"search bomb.png --run run --in photos -> none of 1 pictures",
		"search bomb.avif --run run --in photos -> AVIF of 60000 x 60000 pixels: more than",
		"search bomb.jxl --run run --in photos -> JPEG XL of 12000 x 12000 pixels: needs",
		"search lines.jxl --run run --in photos -> JPEG XL: a decoder for 3000 x 2500 pixels: needs"},
	"serve":   {"serve --review review --listen 127.0.0.1:0 -> needs more"},
	"compare": {"compare long.yaml --out s -> a text of YAML has at most 1 MiB"},
	"sweep":   {"sweep long.yaml --out s -> a text of YAML has at most 1 MiB"},
	"train": {"train -c long.yaml --out t -> a text of YAML has at most 1 MiB",
		"train rows.zip --out t -> more than"},
}

// commandsWithoutFiles are commands that read no file of anybody else's, or only by readers of another command.
var commandsWithoutFiles = map[string]string{
	"bench": "its own data", "cache": "none", "cache drop": "none", "cache list": "none", "completion": "none",
	"data": "none", "data get": "downloads, by a digest", "data list": "none", "doctor": "names of files",
	"index": "none", "index compact": "the index, as index check", "index push": "the index, as index check",
	"index remove": "the index, as index check", "index search": "photos and the index, as search and index check",
	"index reembed": "photos, the index and a network, as data info, index check and network show",
	"index sync":    "photos, as data info", "jobs": "a queue", "jobs cancel": "a queue", "jobs remove": "a queue",
	"jobs retry": "a queue", "man": "none", "network": "none", "plan": "none", "reproduce": "data, as train",
	"reproduce tune": "data, as train", "serve key": "its own file", "theory": "none", "theory field": "none",
	"theory isometry": "none", "theory live": "none", "theory noise": "none", "version": "none", "weights": "none",
	"formats": "none", "formats get": "downloads, by a digest",
	"weights get": "downloads, by a digest", "weights list": "none",
	"worker": "what the commands read whose jobs it does",
}

// bombFiles write what the command lines name.
var bombFiles = map[string]func(path string, w *bufio.Writer){
	"many.csv": func(_ string, w *bufio.Writer) {
		w.WriteString("label,embedding_0,embedding_1\n")
		for i := range 3_000_000 {
			fmt.Fprintf(w, "c%d,%d,%d\n", i, i%7, i%5)
		}
	},
	"some.csv": func(_ string, w *bufio.Writer) {
		w.WriteString("label,embedding_0\n")
		for i := range 1_200_000 {
			fmt.Fprintf(w, "c%d,%d\n", i, i%7)
		}
	},
	"field.csv": func(_ string, w *bufio.Writer) {
		w.WriteString("label,embedding_0\na,1\n")
		writeRepeated(w, "x", 300<<20)
	},
	"rows.csv": func(_ string, w *bufio.Writer) {
		w.WriteString("label,embedding_0\n")
		writeRepeated(w, "a,1\n", 64<<20)
	},
	"small.csv": func(_ string, w *bufio.Writer) { w.WriteString("label,embedding_0\na,1\na,2\nb,3\nb,4\n") },
	"pairs.csv": func(_ string, w *bufio.Writer) { writeRepeated(w, "0,1,same\n", 200<<20) },
	"names.csv": func(_ string, w *bufio.Writer) {
		w.WriteString("path,label\n")
		writeRepeated(w, "a.png,b\n", 40<<20)
	},
	"matrix.npy": func(_ string, w *bufio.Writer) {
		w.WriteString("\x93NUMPY\x01\x00\x76\x00")
		fmt.Fprintf(w, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (200000, 128)}")
		for i := range 200_000 * 128 {
			binary.Write(w, binary.LittleEndian, float32(i%1009)-float32(i%13))
		}
	},
	"of.csv": func(_ string, w *bufio.Writer) {
		w.WriteString("label\n")
		for i := range 200_000 {
			fmt.Fprintf(w, "%d\n", i/4)
		}
	},
	"wide.npy": func(_ string, w *bufio.Writer) {
		w.WriteString("\x93NUMPY\x01\x00\x76\x00")
		fmt.Fprintf(w, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 30000000)}")
		writeRepeated(w, "\x00", 4*2*30_000_000)
	},
	"claims.npy": func(_ string, w *bufio.Writer) {
		w.WriteString("\x93NUMPY\x01\x00\x76\x00")
		fmt.Fprintf(w, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000, 4)}")
	},
	"texts.npz": func(_ string, w *bufio.Writer) {
		writeZip(w, "y.npy", func(w *bufio.Writer) {
			w.WriteString("\x93NUMPY\x01\x00\x76\x00")
			fmt.Fprintf(w, "%-117s\n", "{'descr': '<U2', 'fortran_order': False, 'shape': (100000000,)}")
			writeRepeated(w, "a\x00\x00\x00b\x00\x00\x00", 8*100_000_000)
		})
	},
	"header.safetensors": func(_ string, w *bufio.Writer) {
		const text = 90 << 20
		binary.Write(w, binary.LittleEndian, uint64(text))
		w.WriteString(`{"__metadata__":{`)
		writeRepeated(w, `"a":"",`, text-17-2)
		w.WriteString("}}")
	},
	"label.zip": func(_ string, w *bufio.Writer) {
		writeZip(w, "manifest.csv", func(w *bufio.Writer) {
			w.WriteString("path,label\na.png,")
			writeRepeated(w, "x", 240<<20)
		})
	},
	"rows.zip": func(_ string, w *bufio.Writer) {
		writeZip(w, "manifest.csv", func(w *bufio.Writer) {
			w.WriteString("path,label\n")
			for i := range 3_000_000 {
				fmt.Fprintf(w, "p%d.png,l%d\n", i, i)
			}
		})
	},
	"deep.json.zip": func(_ string, w *bufio.Writer) {
		writeZip(w, "train2018.json", func(w *bufio.Writer) {
			w.WriteString(`{"images":`)
			writeRepeated(w, "[", 100<<20)
		})
	},
	"zeros.onnx": func(_ string, w *bufio.Writer) { writeRepeated(w, "\x00", 300<<20) },
	"long.yaml":  func(_ string, w *bufio.Writer) { writeRepeated(w, "a: [{}, {}]\n", 2<<20) },
	"bomb.png":   func(_ string, w *bufio.Writer) { w.Write(hugePNG()) },
	"bomb.avif": func(_ string, w *bufio.Writer) {
		b := imageFile(filepath.Join("formats", "avif.avif"))
		size := bytes.Index(b, []byte("ispe")) + 8
		binary.BigEndian.PutUint32(b[size:], 60_000)
		binary.BigEndian.PutUint32(b[size+4:], 60_000)
		w.Write(b)
	},
	"bomb.jxl": func(_ string, w *bufio.Writer) { w.Write(imageFile(filepath.Join("large", "blank.jxl"))) },
	// It is lossless and progressive, which takes three times the memory of most files.
	"lines.jxl": func(_ string, w *bufio.Writer) { w.Write(imageFile(filepath.Join("large", "lines.jxl"))) },
}

// imageFile reads a file of the tests of package imaging.
func imageFile(name string) []byte {
	_, here, _, _ := runtime.Caller(0)
	b, err := os.ReadFile(filepath.Join(filepath.Dir(here), "..", "..", "data", "imaging", "testdata", name))
	if err != nil {
		panic(err)
	}
	return b
}

// writeRepeated writes a text again and again, n bytes of it at most.
func writeRepeated(w *bufio.Writer, text string, n int) {
	piece := strings.Repeat(text, max(1, 1<<16/len(text)))
	for n >= len(text) {
		k := min(n/len(text)*len(text), len(piece))
		w.WriteString(piece[:k])
		n -= k
	}
	if rest := n; rest > 0 {
		w.WriteString(strings.Repeat(" ", rest))
	}
}

func writeZip(w *bufio.Writer, name string, content func(w *bufio.Writer)) {
	z := zip.NewWriter(w)
	f, err := z.Create(name)
	if err != nil {
		panic(err)
	}
	in := bufio.NewWriter(f)
	content(in)
	if err := errors.Join(in.Flush(), z.Close()); err != nil {
		panic(err)
	}
}

// hugePNG is a picture of 60,000 x 60,000 pixels in 100 bytes.
func hugePNG() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	out := b.Bytes()
	head := out[12:29] // its type and what it says
	binary.BigEndian.PutUint32(head[4:], 60_000)
	binary.BigEndian.PutUint32(head[8:], 60_000)
	binary.BigEndian.PutUint32(out[29:], crc32.ChecksumIEEE(head))
	return out
}

// bombFolders make, from what a trained run and the folder of its photos hold, folders that the command lines
// name.
var bombFolders = map[string]func(t *testing.T, dir string){
	"strangers": func(t *testing.T, dir string) {
		copyFolder(t, "run", dir)
		putText(t, dir+"/calibration.json", `{"format":1,"strangers":[{}`, ",{}", 90<<20, "]}")
	},
	"objects": func(t *testing.T, dir string) {
		copyFolder(t, "run", dir)
		putText(t, dir+"/calibration.json", `{"format":1,"strangers":[{}`, ",{}", 7<<20, "]}")
	},
	"long": func(t *testing.T, dir string) {
		copyFolder(t, "run", dir)
		putText(t, dir+"/model.json", "", " ", 300<<20, "")
	},
	"metrics": func(t *testing.T, dir string) {
		copyFolder(t, "run", dir)
		putText(t, dir+"/metrics.csv", "epoch,loss\n", "1,2\n", 200<<20, "")
	},
	"manifest": func(t *testing.T, dir string) {
		text := []byte(`{"version":1,"columns":[{}` + strings.Repeat(",{}", 20<<20) + "]}\n")
		sum := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
		writeBytes(t, filepath.Join(dir, "MANIFEST"), fmt.Appendf(text, "crc32c %08x\n", sum))
	},
	"review": func(t *testing.T, dir string) {
		text, err := (&review.Page{Title: "a", Items: []review.Item{{Path: "a.png", Label: "b"}}}).JSON()
		if err != nil {
			t.Fatal(err)
		}
		writeBytes(t, filepath.Join(dir, review.DataName), text)
		putText(t, dir+"/decisions.json", `{"past":[{}`, ",{}", 100<<20, "]}")
	},
	"I": func(t *testing.T, dir string) { runProgram(t, "index create --embeddings small.csv --out "+dir) },
}

func putText(t *testing.T, path, head, middle string, n int, tail string) {
	t.Helper()
	writeBomb(t, path, func(_ string, w *bufio.Writer) {
		w.WriteString(head)
		writeRepeated(w, middle, n)
		w.WriteString(tail)
	})
}

func writeBomb(t *testing.T, path string, write func(string, *bufio.Writer)) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	write(path, w)
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestMemoryBinds: with --memory no command has more than 1.4 times as much resident, whatever its files
// say, and each says what is wrong.
func TestMemoryBinds(t *testing.T) {
	run, pictures := trainRun(t)
	t.Chdir(t.TempDir())
	copyFolder(t, run, "run")
	copyFolder(t, pictures, "photos")
	first, err := filepath.Glob("photos/*/*.png")
	if err != nil || len(first) == 0 {
		t.Fatal("no photos")
	}
	text, err := os.ReadFile(first[0])
	if err != nil {
		t.Fatal(err)
	}
	writeBytes(t, "photo.png", text)
	made := map[string]bool{}
	for _, command := range slices.Sorted(maps.Keys(bombs)) {
		for _, line := range bombs[command] {
			line, want, ok := strings.Cut(line, " -> ")
			if !ok || !strings.HasPrefix(line, command+" ") {
				t.Fatalf("%q is no line of %s", line, command)
			}
			t.Run(line, func(t *testing.T) {
				for _, word := range strings.Fields(line) {
					if write := bombFiles[word]; write != nil && !made[word] {
						made[word] = true
						writeBomb(t, word, write)
					}
					if make := bombFolders[word]; make != nil && !made[word] {
						if word == "I" && !made["small.csv"] {
							made["small.csv"] = true
							writeBomb(t, "small.csv", bombFiles["small.csv"])
						}
						made[word] = true
						make(t, word)
					}
				}
				tryBomb(t, line, want)
			})
		}
	}
}

// tryBomb runs a command line in a process of its own.
func tryBomb(t *testing.T, line, want string) {
	t.Helper()
	cmd := newChild(t, line+" --memory "+strings.ReplaceAll(budget.Format(bombLimit), " ", ""))
	cmd.Env = append(cmd.Env, childPeak+"=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	status := waitStatus(t, cmd)
	m := peakPattern.FindStringSubmatch(said.String())
	if m == nil {
		t.Fatalf("it did not end by itself: %v: %.1000s", status, said.String())
	}
	kib, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	message := said.String()[:len(said.String())-len(m[0])]
	t.Logf("%s: %.2f of the limit, %.200s", line, float64(kib<<10)/bombLimit, strings.TrimSpace(message))
	if float64(kib<<10) > maxPeak*bombLimit {
		t.Errorf("%s took %s of %s", line, budget.Format(kib<<10), budget.Format(bombLimit))
	}
	if (want == "") != (status.ExitStatus() == exitOK) || !strings.Contains(message, want) {
		t.Errorf("%s: status %d, %.500s; want %q", line, status.ExitStatus(), message, want)
	}
	if len(message) > 16<<10 {
		t.Errorf("%s says %d bytes", line, len(message))
	}
}

var peakPattern = regexp.MustCompile(`peak (\d+)\n$`)

// Every command has bombs, or reads nothing that could be one.
func TestEveryReaderHasBombs(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if path := strings.TrimPrefix(c.CommandPath(), "kindred "); c.Runnable() && c.HasParent() && !c.Hidden {
			_, nothing := commandsWithoutFiles[path]
			if nothing == (len(bombs[path]) > 0) {
				t.Errorf("%s: give it bombs, or say in readNothing why none of its files can be one", path)
			}
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(newRoot(&console.Console{}))
}
