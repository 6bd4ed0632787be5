//! PaXoS by depth-first search (Pinkas, Rosulek, Trieu, Yanai: EUROCRYPT 2020): the rows and columns of
//! [`paxos`](super::paxos), solved in a different order.
//!
//! A search passes through the graph whose edges are the rows. When it first reaches a vertex, the edge by
//! which it came determines the vertex's column; an edge to a vertex already reached closes a cycle, and is
//! solved in the dense columns. With [`Free::Zero`](super::Free::Zero) this is PaXoS as published, in which
//! the vertex where a search begins and unused dense columns are zero; with
//! [`Free::Random`](super::Free::Random) they are random, as in XoPaXoS.
//!
//! Encodings are decoded like encodings of [`Paxos`] and fail under the same condition, except that the rows set
//! aside, though equally many, may be different ones.

use vesica_params::okvs::Shape;
use vesica_primitives::{BinaryVector, Block};

use super::{
    Binary, Codec, Error, Okvs, PlacedKeys,
    paxos::{Paxos, WEIGHT},
    solve::{Order, Solver},
};

/// A store with some shape and seed.
pub struct DepthFirst(Paxos);

/// Scratch space for solving.
#[derive(Default)]
pub struct Workspace(Solver<u32, WEIGHT, Binary>);

impl Okvs for DepthFirst {
    type Workspace = Workspace;

    fn new(shape: Shape, seed: Block) -> Self {
        Self(Paxos::new(shape, seed))
    }

    fn clusters(&self) -> usize {
        self.0.clusters()
    }

    fn cluster_columns(&self) -> usize {
        self.0.cluster_columns()
    }

    fn place(&self, keys: &[Block]) -> PlacedKeys {
        self.0.place(keys)
    }

    fn solve_cluster(&self, keys: &[Block], workspace: &mut Workspace) -> Result<(), Error> {
        workspace.0.solve_by(&self.0, keys, |edges, order| {
            search(self.0.shape().sparse, edges, order);
        })
    }
}

impl<V: BinaryVector> Codec<V> for DepthFirst {
    fn fill_cluster(
        &self,
        keys: &[Block],
        values: &[V],
        columns: &mut [V],
        workspace: &Workspace,
    ) -> Result<(), Error> {
        workspace.0.fill(&self.0, keys, values, columns)
    }

    fn decode_cluster(&self, keys: &[Block], columns: &[V], values: &mut [V]) {
        self.0.decode_cluster(keys, columns, values);
    }
}

/// Searches a graph, starting again at a new vertex for each connected component.
fn search(vertices: usize, edges: &[[u32; WEIGHT]], order: &mut Order<u32>) {
    let (mut next, at) = incident(vertices, edges);
    let mut known = vec![false; vertices];
    let mut done = vec![false; edges.len()];
    let mut path = Vec::new();
    for root in 0..vertices {
        if known[root] {
            continue;
        }
        known[root] = true;
        path.push(root);
        while let Some(vertex) = path.last().copied() {
            // The ends of edge lists do not move: the list of a vertex ends where the next one began.
            let Some(edge) = next[vertex].next() else {
                path.pop();
                continue;
            };
            let edge = at[edge];
            if std::mem::replace(&mut done[edge as usize], true) {
                continue;
            }
            let [one, other] = edges[edge as usize];
            let reached = one ^ other ^ vertex as u32;
            if std::mem::replace(&mut known[reached as usize], true) {
                order.gap.push(edge);
            } else {
                order.peeled.push((edge, reached));
                path.push(reached as usize);
            }
        }
    }
    // Vertices reached later depend on those reached earlier.
    order.peeled.reverse();
}

/// The edges at each vertex, as ranges of a list, and the list.
fn incident(vertices: usize, edges: &[[u32; WEIGHT]]) -> (Vec<std::ops::Range<usize>>, Vec<u32>) {
    let mut at = vec![0; WEIGHT * edges.len()];
    let mut ranges = vec![0..0; vertices];
    edges.iter().flatten().for_each(|vertex| ranges[*vertex as usize].end += 1);
    let mut sum = 0;
    for range in &mut ranges {
        let degree = range.end;
        *range = sum..sum;
        sum += degree;
    }
    for (number, edge) in (0..).zip(edges) {
        for vertex in edge {
            let range = &mut ranges[*vertex as usize];
            at[range.end] = number;
            range.end += 1;
        }
    }
    (ranges, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(vertices: usize, edges: &[[u32; WEIGHT]]) -> Order<u32> {
        let mut order = Order::default();
        search(vertices, edges, &mut order);
        order
    }

    #[test]
    fn a_path_is_solved_from_its_end() {
        let Order { peeled, gap } = searched(5, &[[2, 1], [0, 1], [3, 2]]);
        assert_eq!(peeled, [(2, 3), (0, 2), (1, 1)]);
        assert!(gap.is_empty());
    }

    #[test]
    fn each_edge_beyond_a_forest_is_set_aside() {
        // A triangle with a doubled side, and a separate edge.
        let Order { peeled, gap } = searched(6, &[[0, 1], [1, 2], [2, 0], [1, 0], [4, 5]]);
        assert_eq!((peeled.len(), gap.len()), (3, 2));
        let reached: Vec<u32> = peeled.iter().map(|(_, vertex)| *vertex).collect();
        assert_eq!(reached, [5, 2, 1]);
    }
}
