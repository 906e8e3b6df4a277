package data

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Folders called train, val and so on are a split, and not classes, wherever that can be told.
func TestSplitFolders(t *testing.T) {
	openPlaced(t, []placedCase{
		{"train and val", "train/cat/1 train/dog/2 val/cat/3 val/dog/4",
			"train/cat/1 cat train|train/dog/2 dog train|val/cat/3 cat test|val/dog/4 dog test", noteValidation, ""},
		{"train and valid", "train/cat/1 valid/cat/3",
			"train/cat/1 cat train|valid/cat/3 cat test", noteValidation, ""},
		{"in another case", "Train/cat/1 VAL/cat/3", "Train/cat/1 cat train|VAL/cat/3 cat test", noteValidation, ""},
		{"called sets", "training_set/cat/1 test_set/cat/3",
			"test_set/cat/3 cat test|training_set/cat/1 cat train", "", ""},
		{"called data", "Training_Data/cat/1 Test-Data/cat/3",
			"Test-Data/cat/3 cat test|Training_Data/cat/1 cat train", "", ""},
		{"called images", "train_images/cat/1 images_val/cat/3",
			"images_val/cat/3 cat test|train_images/cat/1 cat train", noteValidation, ""},
		{"of a year", "train2017/cat/1 val2017/cat/3",
			"train2017/cat/1 cat train|val2017/cat/3 cat test", noteValidation, ""},
		{"train and dev", "train/cat/1 dev/cat/3", "dev/cat/3 cat test|train/cat/1 cat train", noteValidation, ""},
		{"train, dev and eval", "trainval/cat/1 dev/cat/2 eval/cat/3",
			"dev/cat/2 cat none|eval/cat/3 cat test|trainval/cat/1 cat train", "", ""},
		{"train and holdout", "train/cat/1 holdout/cat/3", "holdout/cat/3 cat test|train/cat/1 cat train", "", ""},
		{"probe and gallery", "probe/cat/1 gallery/cat/2", "gallery/cat/2 cat gallery|probe/cat/1 cat query", "", ""},
		{"classes with numbers", "test1/1 test2/2", "test1/1 test1|test2/2 test2", "", ""},
		{"images and photos", "images/cat/1 photos/cat/2",
			"images/cat/1 images/cat images|photos/cat/2 photos/cat photos", "", ""},
		{"three parts", "train/cat/1 validation/cat/2 test/cat/3",
			"test/cat/3 cat test|train/cat/1 cat train|validation/cat/2 cat none", "", ""},
		{"train alone", "train/cat/1 train/dog/2", "train/cat/1 cat|train/dog/2 dog", "", ""},
		{"test alone", "test/cat/1 test/dog/2", "test/cat/1 cat|test/dog/2 dog", "", ""},
		{"val alone, two levels", "val/pet/cat/1 val/pet/dog/2 val/wild/owl/3",
			"val/pet/cat/1 pet/cat pet|val/pet/dog/2 pet/dog pet|val/wild/owl/3 wild/owl wild", "", ""},
		{"query and gallery", "query/cat/1 gallery/cat/2",
			"gallery/cat/2 cat gallery|query/cat/1 cat query", "", ""},
		{"train and query", "train/cat/1 query/cat/2", "query/cat/2 cat test|train/cat/1 cat train", noteSearched, ""},
		{"val and test", "val/cat/1 test/cat/2", "test/cat/2 cat test|val/cat/1 cat none", "", ""},
		{"in a folder", "set/train/cat/1 set/val/cat/2",
			"set/train/cat/1 cat train|set/val/cat/2 cat test", noteValidation, ""},
		{"in two folders, one alone", "a/b/train/cat/1 a/b/train/dog/2",
			"a/b/train/cat/1 cat|a/b/train/dog/2 dog", "", ""},
		{"in every class", "cat/train/1 cat/val/2 dog/train/3 dog/val/4",
			"cat/train/1 cat train|cat/val/2 cat test|dog/train/3 dog train|dog/val/4 dog test", noteValidation, ""},
		{"in every class of two levels", "pet/cat/train/1 pet/cat/test/2 wild/owl/train/3",
			"pet/cat/test/2 pet/cat pet test|pet/cat/train/1 pet/cat pet train|wild/owl/train/3 wild/owl wild train",
			"", ""},
		{"test without classes", "train/cat/1 train/dog/2 val/cat/3 test/4 test/5",
			"train/cat/1 cat train|train/dog/2 dog train|val/cat/3 cat test", noteValidation,
			"left out 2: " + noClass + ": test/4.png, test/5.png"},
		{"test without classes beside train alone", "train/cat/1 train/dog/2 test/4",
			"train/cat/1 cat|train/dog/2 dog", "", "left out 1: " + noClass + ": test/4.png"},
		{"masks beside", "train/good/1 test/good/2 test/cut/3 masks/cut/3",
			"test/cut/3 cut test|test/good/2 good test|train/good/1 good train", "",
			"left out 1: " + besideSplits + ": masks/cut/3.png"},
		{"some at the top", "train/cat/1 test/cat/2 x", "test/cat/2 cat test|train/cat/1 cat train", "",
			"left out 1: " + outsideClasses + ": x.png"},
		{"a class of vehicles", "train/1 bus/2", "bus/2 bus|train/1 train", "", ""},
		{"kinds of vehicles", "train/steam/1 bus/school/2",
			"bus/school/2 bus/school bus|train/steam/1 train/steam train", "", ""},
	})
}

// A folder that holds all classes is none itself.
func TestWrappedFolders(t *testing.T) {
	openPlaced(t, []placedCase{
		{"all in one folder", "photos/cat/1 photos/dog/2", "photos/cat/1 cat|photos/dog/2 dog", "", ""},
		{"all in two folders", "x/photos/cat/1 x/photos/dog/2", "x/photos/cat/1 cat|x/photos/dog/2 dog", "", ""},
		{"two levels in one folder", "x/big/cat/1 x/small/dog/2",
			"x/big/cat/1 big/cat big|x/small/dog/2 small/dog small", "", ""},
		{"unequal depths in one folder", "x/cat/1 x/cat/tabby/2", "x/cat/1 cat|x/cat/tabby/2 cat/tabby", "", ""},
		{"one class in a folder", "photos/cat/1 photos/cat/2", "photos/cat/1 cat|photos/cat/2 cat", "", ""},
		{"one folder in every part", "train/x/cat/1 train/x/dog/2 test/x/cat/3",
			"test/x/cat/3 cat test|train/x/cat/1 cat train|train/x/dog/2 dog train", "", ""},
		{"names that begin alike", "photo/cat/1 photos/cat/2",
			"photo/cat/1 photo/cat photo|photos/cat/2 photos/cat photos", "", ""},
	})
}

// placedCase is a set of files, the samples they make, and what is said of them.
type placedCase struct{ name, files, want, note, left string }

// openPlaced opens the files of each case in a folder and in an archive.
func openPlaced(t *testing.T, cases []placedCase) {
	t.Helper()
	pic := picture(t, 3, 3, 7)
	for _, c := range cases {
		files := layoutFiles{}
		for f := range strings.FieldsSeq(c.files) {
			files[f+".png"] = pic
		}
		zip := filepath.Join(t.TempDir(), "set.zip")
		write(t, zip, files.zip(t))
		for _, at := range []string{files.folder(t), zip} {
			d := open(t, at)
			got := strings.ReplaceAll(strings.ReplaceAll(summary(t, d), ".png", ""), "\n", "|")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s:\n%s", c.name, diff)
			}
			if diff := cmp.Diff(c.note, strings.Join(d.Notes, "|")); diff != "" {
				t.Errorf("%s:\n%s", c.name, diff)
			}
			if diff := cmp.Diff(c.left, leftOutText(d.LeftOut)); diff != "" {
				t.Errorf("%s:\n%s", c.name, diff)
			}
			readable(t, d)
		}
	}
}

// Without class folders in them, split folders are no classes: the set has no labels.
func TestSplitFoldersWithoutClasses(t *testing.T) {
	pic := picture(t, 3, 3, 7)
	for _, l := range []layoutFiles{{"train/1.png": pic, "test/2.png": pic}, {"train/1.png": pic, "train/2.png": pic}} {
		dir := l.folder(t)
		if _, err := Open(t.Context(), dir, OpenOptions{}); err == nil || !strings.Contains(err.Error(),
			"2 images in folders of a split (such as t") {
			t.Errorf("%v", err)
		}
		d, err := Open(t.Context(), dir, OpenOptions{Unlabelled: true})
		if err != nil || d.Len() != 2 || len(d.Columns) > 0 || len(d.Notes) != 1 {
			t.Errorf("%+v %v", d, err)
		}
	}
}
