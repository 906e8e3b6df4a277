package bombs

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/format/wasm"
	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/internal/test/heif"
	"github.com/kindred-ml/kindred/internal/test/hostile"
)

// newReader returns a function that decodes files of up to so many pixels, or of the default, in a sandbox or not. Its
// work is the looks at the context.
func newReader(maxPixels int, sandboxed bool) func(file []byte) (hostile.Cost, error) {
	return func(file []byte) (cost hostile.Cost, err error) {
		ctx := ctxtest.NewCountdown(-1)
		d, pixels, inSandbox := imaging.Decoder{MaxPixels: maxPixels}, int64(0), false
		if h, err := imaging.ReadHeader(ctx, bytes.NewReader(file), int64(len(file))); err == nil {
			pixels = int64(h.W) * int64(h.H)
			cost.Memory = h.Bytes(1)
			inSandbox = slices.Contains([]string{"AVIF", "JPEG XL", "HEIC"}, h.Format)
		}
		if most := int64(cmp.Or(maxPixels, imaging.DefaultMaxPixels)); pixels > most {
			pixels, cost.Memory = 0, 0 // it must be refused
		}
		err = d.Decode(ctx, new(imaging.Image), file)
		// The size is read twice, and the picture once, each by a run of its own; tiles may have four times the
		// picture's area. Decoders outside of a sandbox look more often, up to once for some bytes or pixels.
		const looks = 64
		n := int64(len(file))
		cost.Work = int64(ctx.Calls())
		cost.MostWork = looks + (2*wasm.LoopLimit(0, n)+wasm.LoopLimit(4*pixels, n))/wasm.Quantum
		if !sandboxed {
			cost.MostWork = looks + pixels + n
		}
		if !inSandbox { // these look as they read, and at each row of a block
			cost.MostWork += n + 4*pixels
		}
		return cost, err
	}
}

// parse reads the structure of a file.
func parse(file []byte) (cost hostile.Cost, err error) {
	f, err := isobmff.Parse(file)
	cost.Memory = isobmff.StructureBytes(file, int64(len(file)))
	if err == nil {
		f.Exif()
		f.Grid(f.Primary)
	}
	return cost, err
}

// formats returns the formats whose decoders run in a sandbox, and the structure of HEIF files.
func formats(tb testing.TB) []*hostile.Format {
	var all []*hostile.Format
	for _, name := range []string{"AVIF", "JPEG XL", "HEIC"} {
		f := Format(name)
		f.Read = newReader(1<<20, true)
		all = append(all, f)
	}
	structure := Format("AVIF")
	structure.Name, structure.Read = "structure", parse
	structure.Valid = structure.Valid[:len(structure.Valid)-1] // without the film, which has another one
	return append(all, structure)
}

// TestMutations: files whose boxes are repeated, nested, moved and changed take the memory and the work that their
// sizes allow.
func TestMutations(t *testing.T) {
	for _, f := range formats(t) {
		t.Run(f.Name, func(t *testing.T) {
			if f.Name == "HEIC" {
				heif.Decoder(t)
			}
			f.Read(f.Write(f.Valid[0])) // translates the decoder, once
			hostile.Try(t, f)
		})
	}
}

func FuzzAVIF(f *testing.F)      { fuzz(f, 0) }
func FuzzJXL(f *testing.F)       { fuzz(f, 1) }
func FuzzHEIC(f *testing.F)      { heif.Decoder(f); fuzz(f, 2) }
func FuzzStructure(f *testing.F) { fuzz(f, 3) }

func fuzz(f *testing.F, number int) {
	format := formats(f)[number]
	format.Read(format.Write(format.Valid[0])) // translates the decoder, once
	hostile.Fuzz(f, format)
}
