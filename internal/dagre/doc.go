// Package dagre places the nodes and edges of a directed graph in layers, so that edges point
// downward, cross little, and never run through nodes.
//
// The layers and positions come from dagre (github.com/dagrejs/dagre, version 3.1.3, MIT licence in
// LICENSE.dagre), a JavaScript library that is here run by goja, in pure Go. update.sh reproduces
// dagre.min.js from the npm package. Edges are routed again here: through a layer of nodes they run
// straight down at the position that dagre keeps free for them, and bend between layers only.
package dagre
