// Package textencoder turns texts into embeddings by the text towers of CLIP and SigLIP, from a folder as Hugging Face
// and OpenCLIP have it: a configuration, weights and a tokenizer.json. A text's embedding is compared with a photo's,
// if the photo's is by the image tower that was trained together with the text tower.
package textencoder
