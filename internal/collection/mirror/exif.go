package mirror

import (
	"fmt"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/store"
)

// Columns of a photo's EXIF data: the time of the camera's clock, as 2024-05-01T12:30:05; make and model; the
// place as "latitude,longitude" in degrees, and both as numbers.
const (
	Taken     = "taken"
	Camera    = "camera"
	Place     = "place"
	Latitude  = "latitude"
	Longitude = "longitude"
)

// allExifColumns returns their names and kinds.
func allExifColumns() []store.Column {
	return []store.Column{{Name: Taken, Kind: store.Text}, {Name: Camera, Kind: store.Text},
		{Name: Place, Kind: store.Text}, {Name: Latitude, Kind: store.Number}, {Name: Longitude, Kind: store.Number}}
}

// ExifColumns returns the columns that a photo has EXIF data for.
func ExifColumns(p *imaging.EXIF) map[string]any {
	out := map[string]any{}
	if !p.Taken.IsZero() {
		out[Taken] = p.Taken.Format("2006-01-02T15:04:05")
	}
	if p.Camera != "" {
		out[Camera] = p.Camera
	}
	if p.Located {
		out[Place] = fmt.Sprintf("%.6f,%.6f", p.Latitude, p.Longitude)
		out[Latitude], out[Longitude] = p.Latitude, p.Longitude
	}
	return out
}

// PutExif sets the columns of an item that its photo has EXIF data for, and removes the other EXIF columns. A
// column of another kind in have belongs to the user and is not changed.
func PutExif(it *store.Item, p *imaging.EXIF, have []store.Column) {
	own := map[string]bool{}
	for _, c := range have {
		for _, e := range allExifColumns() {
			own[c.Name] = own[c.Name] || c.Name == e.Name && c.Kind != e.Kind
		}
	}
	values := ExifColumns(p)
	for _, c := range allExifColumns() {
		if own[c.Name] {
			continue
		}
		delete(it.Columns, c.Name)
		if v := values[c.Name]; v != nil {
			if it.Columns == nil {
				it.Columns = map[string]any{}
			}
			it.Columns[c.Name] = v
		}
	}
}
