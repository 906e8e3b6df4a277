package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/kindred-ml/kindred/data"
)

// Exif sums up the EXIF data of the files: times, places and cameras.
type Exif struct {
	// Taken is the number of pictures with a time. First and Last are the earliest and the latest
	// time, by the cameras' clocks.
	Taken int    `json:"taken"`
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"`
	// Located is the number of pictures with a place.
	Located int `json:"located"`
	// Cameras lists the cameras, the most frequent first.
	Cameras []Camera `json:"cameras"`
}

// Camera is a make and model, and the number of its pictures.
type Camera struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// readExif returns nil if no file has such data.
func readExif(ctx context.Context, d *data.Dataset) (*Exif, error) {
	photos, err := d.All().EXIF(ctx)
	if err != nil {
		return nil, err
	}
	e := &Exif{Cameras: []Camera{}}
	cameras := map[string]int{}
	for _, p := range photos {
		if !p.Taken.IsZero() {
			text := p.Taken.Format("2006-01-02T15:04:05")
			if e.Taken == 0 || text < e.First {
				e.First = text
			}
			e.Taken, e.Last = e.Taken+1, max(e.Last, text)
		}
		if p.Located {
			e.Located++
		}
		if p.Camera != "" {
			cameras[p.Camera]++
		}
	}
	for name, n := range cameras {
		e.Cameras = append(e.Cameras, Camera{name, n})
	}
	slices.SortFunc(e.Cameras, func(a, b Camera) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	if e.Taken+e.Located+len(cameras) == 0 {
		return nil, nil
	}
	return e, nil
}
