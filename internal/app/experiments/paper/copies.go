package paper

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// alteration is a change of a copied picture.
type alteration struct {
	name string
	do   func(im image.Image, rng *rand.Rand) (image.Image, error)
}

// cropping removes a share of the width and of the height at the edges.
func cropping(share float64) alteration {
	name := fmt.Sprintf("cut by %g %%", 100*share)
	return alteration{name, func(im image.Image, rng *rand.Rand) (image.Image, error) {
		b := im.Bounds()
		w, h := int((1-share)*float64(b.Dx())), int((1-share)*float64(b.Dy()))
		x, y := b.Min.X+rng.IntN(b.Dx()-w+1), b.Min.Y+rng.IntN(b.Dy()-h+1)
		part := im.(interface {
			SubImage(image.Rectangle) image.Image
		}).SubImage(image.Rect(x, y, x+w, y+h))
		return part, nil
	}}
}

// compressing compresses a picture as JPEG.
func compressing(quality int) alteration {
	name := fmt.Sprintf("JPEG, quality %d", quality)
	return alteration{name, func(im image.Image, _ *rand.Rand) (image.Image, error) {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, im, &jpeg.Options{Quality: quality}); err != nil {
			return nil, err
		}
		return jpeg.Decode(&b)
	}}
}

// brightening multiplies all pixel values.
func brightening(times float64) alteration {
	return alteration{fmt.Sprintf("brighter, x %g", times), func(im image.Image, _ *rand.Rand) (image.Image, error) {
		out := image.NewRGBA(im.Bounds())
		b := im.Bounds()
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				red, green, blue, _ := im.At(x, y).RGBA()
				p := out.PixOffset(x, y)
				for c, v := range [3]uint32{red, green, blue} {
					out.Pix[p+c] = uint8(min(255, times*float64(v>>8)))
				}
				out.Pix[p+3] = 255
			}
		}
		return out, nil
	}}
}

// pictures is a data source of pixels in memory.
type pictures []*imaging.Image

func (p pictures) Shape() (w, h, c int) { return 0, 0, 0 }

func (p pictures) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	*dst = imaging.Image{W: p[i].W, H: p[i].H, C: p[i].C, Pix: append(dst.Pix[:0], p[i].Pix...)}
	return nil
}

// findCopies is the task of finding copies of training pictures among all training pictures: by
// their hashes, and with the pretrained network's neighbours, too.
func findCopies(of alteration, most int) *Task {
	return newMaterialTask(fmt.Sprintf("%d copies %s", most, of.name),
		func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
			scores, err := m.scoreCopies(ctx, of, most)
			return untrainedResult(scores), err
		})
}

func (m *material) scoreCopies(ctx context.Context, of alteration, most int) ([]train.Metric, error) {
	rng := rand.New(rand.NewPCG(m.cfg.Train.Seed, 0xc09e))
	n := m.train.Len()
	original := rng.Perm(n)[:min(most, n/2)] // pictures to copy
	prints := make([]*clean.Fingerprint, n, n+len(original))
	copied := make(pictures, len(original))
	names := make([]string, len(original))
	wanted := make(map[int]int, len(original))
	for k, p := range original {
		wanted[p] = k
		names[k] = fmt.Sprint(k)
	}
	var im imaging.Image
	var dec imaging.Decoder
	for p, i := range m.train.Index {
		if err := m.set.Image(ctx, i, &im, &dec); err != nil {
			return nil, err
		}
		prints[p] = clean.NewFingerprint(&im)
		if k, ok := wanted[p]; ok {
			altered, err := of.do(shownImage(&im), rng)
			if err != nil {
				return nil, err
			}
			copied[k] = imaging.FromImage(altered)
		}
	}
	for _, c := range copied {
		prints = append(prints, clean.NewFingerprint(c))
	}
	x, err := m.untrainedFeatures(ctx)
	if err != nil {
		return nil, err
	}
	set, err := data.New("copies", names, make([]string, len(names)), copied)
	if err != nil {
		return nil, err
	}
	model, err := importNetwork(ctx, m.cfg.Network.Pretrained, pretrainedInput(m.cfg.Data))
	if err != nil {
		return nil, err
	}
	e, err := model.EmbedPart(ctx, set.All())
	if err != nil {
		return nil, err
	}
	both := matrix.New(n+len(copied), x.Cols)
	copy(both.Data, x.Data)
	copy(both.Data[len(x.Data):], eval.NormalizeRows(e.X).Data)
	var out []train.Metric
	for _, by := range []struct {
		name string
		x    *matrix.Dense
	}{{"hashes", nil}, {"both", both}} {
		pairs, err := clean.FindDuplicates(ctx, prints, clean.DuplicateOptions{X: by.x})
		if err != nil {
			return nil, err
		}
		var right float64
		for _, c := range pairs {
			if c.B >= n && original[c.B-n] == c.A {
				right++
			}
		}
		out = append(out, metrics("train", by.name, map[string]float64{"recall": right / float64(len(copied)),
			"precision": right / max(1, float64(len(pairs)))})...)
	}
	return out, nil
}

// shownImage is a picture that can be cropped.
func shownImage(im *imaging.Image) image.Image {
	out := image.NewRGBA(im.Bounds())
	for y := range im.H {
		for x := range im.W {
			out.Set(x, y, im.At(x, y))
		}
	}
	return out
}
