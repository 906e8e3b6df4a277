package readme

import (
	"archive/tar"
	"archive/zip"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sbinet/npyio"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/parquet"
	"github.com/kindred-ml/kindred/matrix"
)

// workspace holds the files that documented commands need.
type workspace struct {
	base     string // files that every page starts with
	runs     string // finished runs: photos and mnist
	env      []string
	makefile string
}

func buildKindred(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "kindred")
	cmd := exec.Command("go", "build", "-trimpath", "-o", bin, "./cmd/kindred")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// newWorkspace makes the stand-ins: folders of photographs, files of embeddings
// and labels, and, below $KINDRED_DATA, MNIST, Omniglot and cub100 with a few
// pictures each.
func newWorkspace(t *testing.T, bin string) *workspace {
	t.Helper()
	dir := t.TempDir()
	w := &workspace{base: filepath.Join(dir, "base"), runs: filepath.Join(dir, "runs"), makefile: "\n" +
		readFile(t, "Makefile")}
	home := filepath.Join(dir, "data")
	path := filepath.Dir(bin) + string(os.PathListSeparator) + os.Getenv("PATH")
	w.env = append(os.Environ(), "PATH="+path, "KINDRED_DATA="+home, "HOME="+dir,
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	for k, name := range []string{"photos", "more", "more-photos", "PATH"} {
		each := 12
		if name == "photos" {
			each = 26 // the fifth of them that training does not see is enough for kindred calibrate
		}
		makePhotos(t, filepath.Join(w.base, name), 4, each, uint64(k))
	}
	makeShards(t, filepath.Join(w.base, "photos"), filepath.Join(w.base, "shards"))
	createFile(t, filepath.Join(w.base, "photo.jpg"), func(out io.Writer) error {
		return jpeg.Encode(out, drawPhoto(44, 36, 2, rand.New(rand.NewPCG(9, 9))), nil)
	})
	makeEmbeddings(t, w.base)
	writeFile(t, filepath.Join(w.base, "model.onnx"),
		[]byte(readFile(t, filepath.Join("internal", "network", "onnxnet", "testdata", "residual.onnx"))))
	writeFile(t, filepath.Join(w.base, "run.yaml"),
		[]byte("data: {name: mnist, label: parity, train_limit: 10, test_limit: 10}\ntrain: {epochs: 2}\n"))
	writeFile(t, filepath.Join(w.base, "plan.yaml"), []byte(`
set: {data: {path: photos}, network: {name: conv4, width: 8}, train.epochs: 2, sample.batches: 2}
ranges: {train.lr: {low: 0.001, high: 0.01, log: true}}
trials: 2
folds: images:2
seeds: 1
`))
	makeMNIST(t, filepath.Join(home, "mnist"))
	makeOmniglot(t, filepath.Join(home, "omniglot"))
	makeCUB(t, filepath.Join(home, "cub100"))
	for _, c := range []string{
		"kindred train --data photos/ --set train.epochs=1 --set eval.keep=true --set eval.train=-1 --out " +
			"../runs/photos",
		"kindred train --data mnist --set data.test_classes=6-9 --set data.train_classes=0-5 --set network.dim=4 " +
			"--set train.epochs=2 --set eval.keep=true --set eval.train=60 --out ../runs/mnist",
		"kindred index create --run ../runs/photos --data photos/ --out ../runs/photos.index",
	} {
		cmd := exec.Command("sh", "-c", c)
		cmd.Dir, cmd.Env = w.base, w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c, err, out)
		}
	}
	return w
}

var (
	runName = regexp.MustCompile(`\bruns/([a-z0-9-]+)(\*?)`)
	outName = regexp.MustCompile(`--out (\S+)`)
)

// folder copies the base for a page, with the runs that its commands name and do
// not make themselves.
func (w *workspace) folder(t *testing.T, p commandPage) string {
	t.Helper()
	dir := t.TempDir()
	copyTree(t, w.base, dir)
	var made []string
	for _, c := range p.commands {
		if m := outName.FindStringSubmatch(c.text); m != nil {
			made = append(made, filepath.Clean(m[1]))
		}
	}
	for _, c := range p.commands {
		const name = "photos.index"
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil && strings.Contains(c.text, name) &&
			!slices.Contains(made, name) {
			copyTree(t, filepath.Join(w.runs, name), filepath.Join(dir, name))
		}
		for _, m := range runName.FindAllStringSubmatch(c.text, -1) {
			names := []string{m[1]}
			if m[2] != "" {
				names = []string{m[1] + "1", m[1] + "2"}
			}
			for _, name := range names {
				dst := filepath.Join(dir, "runs", name)
				if _, err := os.Stat(dst); err == nil || slices.Contains(made, "runs/"+name) {
					continue
				}
				from := "mnist"
				if name == "photos" {
					from = name
				}
				copyTree(t, filepath.Join(w.runs, from), dst)
			}
		}
	}
	return dir
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	createFile(t, path, func(w io.Writer) error { _, err := w.Write(b); return err })
}

func createFile(t *testing.T, path string, f func(io.Writer) error) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// drawPhoto draws a picture of a class: stripes of its own direction and colour,
// with noise.
func drawPhoto(w, h, class int, rng *rand.Rand) image.Image {
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	angle, phase := math.Pi*float64(class)/5+0.1*rng.Float64(), 6*rng.Float64()
	for y := range h {
		for x := range w {
			v := 0.5 + 0.4*math.Sin(phase+0.5*(float64(x)*math.Cos(angle)+float64(y)*math.Sin(angle)))
			n := 0.1 * rng.Float64()
			im.Set(x, y, color.RGBA{uint8(255 * min(1, v+n)), uint8(255 * v * float64(class%3) / 2),
				uint8(255 * (1 - v) * (1 - n)), 255})
		}
	}
	return im
}

// makePhotos writes a folder for each class, with JPEG and PNG in turn, and beside it a
// manifest that gives every picture two labels.
func makePhotos(t *testing.T, dir string, classes, each int, seed uint64) {
	t.Helper()
	manifest := "path,labels\n"
	words := []string{"red", "round", "small", "blue"}
	rng := rand.New(rand.NewPCG(seed, 1))
	for c := range classes {
		for i := range each {
			im := drawPhoto(40+4*(i%3), 36+4*(i%2), c, rng)
			stem := filepath.Join(dir, []string{"bird", "cat", "dog", "fox"}[c], fmt.Sprintf("%02d", i))
			ext := []string{".jpg", ".png"}[i%2]
			manifest += fmt.Sprintf("%s,%s|%s\n", filepath.ToSlash(filepath.Join(filepath.Base(dir),
				filepath.Base(filepath.Dir(stem)), filepath.Base(stem)+ext)), words[c], words[(c+1)%4])
			if i%2 == 0 {
				createFile(t, stem+".jpg", func(w io.Writer) error { return jpeg.Encode(w, im, nil) })
			} else {
				createFile(t, stem+".png", func(w io.Writer) error { return png.Encode(w, im) })
			}
		}
	}
	writeFile(t, filepath.Join(filepath.Dir(dir), "shapes.csv"), []byte(manifest))
}

// makeShards packs a folder of classes into two tar files of WebDataset's layout.
func makeShards(t *testing.T, from, to string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(from, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		createFile(t, filepath.Join(to, fmt.Sprintf("photos-%06d.tar", k)), func(out io.Writer) error {
			w := tar.NewWriter(out)
			for i := k; i < len(files); i += 2 {
				content, err := os.ReadFile(files[i])
				if err != nil {
					return err
				}
				key := fmt.Sprintf("%06d", i)
				for ext, b := range map[string][]byte{filepath.Ext(files[i]): content,
					".cls": []byte(filepath.Base(filepath.Dir(files[i])))} {
					h := &tar.Header{Name: key + ext, Size: int64(len(b)), Mode: 0o644, Typeflag: tar.TypeReg}
					if err := w.WriteHeader(h); err != nil {
						return err
					}
					if _, err := w.Write(b); err != nil {
						return err
					}
				}
			}
			return w.Close()
		})
	}
}

func writeNPY(t *testing.T, path string, v any) {
	t.Helper()
	createFile(t, path, func(w io.Writer) error { return npyio.Write(w, v) })
}

// writeMatrix writes values as npyio does, with two axes.
func writeMatrix(t *testing.T, path string, rows, cols int, v []float32) {
	t.Helper()
	createFile(t, path, func(w io.Writer) error {
		header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
		header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
		if _, err := fmt.Fprintf(w, "\x93NUMPY\x01\x00%c%c%s", len(header)%256, len(header)/256, header); err != nil {
			return err
		}
		return binary.Write(w, binary.LittleEndian, v)
	})
}

// makeEmbeddings writes the files that examples call E.npy, Y.npy and so on: 160
// rows of 8 numbers in 4 classes of 4 finer ones.
func makeEmbeddings(t *testing.T, dir string) {
	t.Helper()
	const n, d = 160, 8
	at := func(name string) string { return filepath.Join(dir, name) }
	rows := func(seed uint64, noise float64) []float32 {
		rng := rand.New(rand.NewPCG(seed, 2))
		x := make([]float32, n*d)
		for i := range n {
			for j := range d {
				x[i*d+j] = float32(noise * rng.NormFloat64())
			}
			x[i*d+i%4] += 4
			x[i*d+4+i/4%4] += 1.5
		}
		return x
	}
	labels := make([]int64, n)
	table, more := "path,label,fine,coarse,alphabet,letter,split\n", []string{"train", "test"}
	for i := range n {
		labels[i] = int64(i % 4)
		f := i%4*4 + i/4%4
		table += fmt.Sprintf("row/%d,%d,%d,%d,alphabet %d,letter %d,%s\n", i, f, f, i%4, i%4, f, more[i/16%2])
	}
	for name, seed := range map[string]uint64{"E.npy": 1, "Q.npy": 2, "G.npy": 3, "features.npy": 4, "e0.npy": 5,
		"e5.npy": 6, "e10.npy": 7} {
		writeMatrix(t, at(name), n, d, rows(seed, 0.5))
	}
	for _, name := range []string{"Y.npy", "QY.npy", "GY.npy", "A.npy", "y.npy"} {
		writeNPY(t, at(name), labels)
	}
	writeMatrix(t, at("P.npy"), 4, d, rows(9, 1)[:4*d])
	for _, name := range []string{"L.csv", "Y.csv", "labels.csv"} {
		writeFile(t, at(name), []byte(table))
	}
	e, err := embedding.NewTable(matrix.FromSlice(n, d, rows(1, 0.5)), nil,
		[]embedding.Column{{Name: "label", IDs: labels}})
	if err != nil {
		t.Fatal(err)
	}
	if err := (embedding.Formats{parquet.Format{}}).Write(at("E.parquet"), e); err != nil {
		t.Fatal(err)
	}
}

// makeMNIST writes the four files with 40 training and 40 test pictures of each digit.
func makeMNIST(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	for _, part := range []string{"train", "t10k"} {
		const n = 400
		images := binary.BigEndian.AppendUint32(nil, 0x803)
		labels := binary.BigEndian.AppendUint32(nil, 0x801)
		for _, v := range []uint32{n, 28, 28} {
			images = binary.BigEndian.AppendUint32(images, v)
		}
		labels = binary.BigEndian.AppendUint32(labels, n)
		for i := range n {
			digit := i % 10
			labels = append(labels, uint8(digit))
			im := drawPhoto(28, 28, digit, rng)
			for y := range 28 {
				for x := range 28 {
					images = append(images, color.GrayModel.Convert(im.At(x, y)).(color.Gray).Y)
				}
			}
		}
		writeFile(t, filepath.Join(dir, part+"-images-idx3-ubyte"), images)
		writeFile(t, filepath.Join(dir, part+"-labels-idx1-ubyte"), labels)
	}
}

// makeOmniglot writes as many alphabets and letters as the official set has, because
// experiments choose letters by number, with four drawings of each.
func makeOmniglot(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	number := 0
	for _, part := range []struct {
		name               string
		alphabets, letters int
	}{{"images_background", 30, 964}, {"images_evaluation", 20, 659}} {
		createFile(t, filepath.Join(dir, part.name+".zip"), func(w io.Writer) error {
			z := zip.NewWriter(w)
			for k := range part.letters {
				number++
				strokes := rng.Uint64()
				for drawing := range 4 {
					f, err := z.Create(fmt.Sprintf("%s/Alphabet_%d_%02d/character%02d/%04d_%02d.png", part.name,
						part.alphabets, k%part.alphabets, k/part.alphabets+1, number, drawing+1))
					if err != nil {
						return err
					}
					if err := png.Encode(f, drawLetter(strokes, drawing)); err != nil {
						return err
					}
				}
			}
			return z.Close()
		})
	}
}

// drawLetter draws 7 x 7 squares of ink, moved a little from drawing to drawing.
func drawLetter(strokes uint64, drawing int) image.Image {
	im := image.NewPaletted(image.Rect(0, 0, 105, 105), color.Palette{color.White, color.Black})
	for y := range 105 {
		for x := range 105 {
			cell := (y+drawing)/15%7*7 + (x+2*drawing)/15%7
			im.Pix[y*im.Stride+x] = uint8(strokes >> cell & 1)
		}
	}
	return im
}

// makeCUB writes a hundred classes of six birds in the layout of CUB-200-2011.
func makeCUB(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	var images, labels, classes string
	id := 0
	for c := range 100 {
		class := fmt.Sprintf("%03d.Bird_%02d", c+1, c)
		classes += fmt.Sprintf("%d %s\n", c+1, class)
		for i := range 6 {
			id++
			name := fmt.Sprintf("%s/Bird_%04d.jpg", class, i)
			images += fmt.Sprintf("%d %s\n", id, name)
			labels += fmt.Sprintf("%d %d\n", id, c+1)
			im := drawPhoto(32, 32, c, rng)
			createFile(t, filepath.Join(dir, "images", name),
				func(w io.Writer) error { return jpeg.Encode(w, im, nil) })
		}
	}
	writeFile(t, filepath.Join(dir, "images.txt"), []byte(images))
	writeFile(t, filepath.Join(dir, "image_class_labels.txt"), []byte(labels))
	writeFile(t, filepath.Join(dir, "classes.txt"), []byte(classes))
}
