//! Objects that two sides leave for each other in a store.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use object_store::{ObjectStoreExt, PutPayload};
use vesica_net::files::Folder;

use super::store::{Fault, Place};

/// Objects whose names share a prefix up to a slash. Stores show an object once it is completely written.
struct Objects {
    address: PathBuf,
    place: Place,
}

pub(crate) fn folder(address: &str) -> io::Result<Box<dyn Folder>> {
    let place = Place::of(address)?;
    Ok(Box::new(Objects { address: address.into(), place }))
}

impl Objects {
    fn object(&self, name: &str) -> object_store::path::Path {
        self.place.path.clone().join(name)
    }
}

/// Returns `None` for an object that does not exist.
fn if_there<T>(found: object_store::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(Fault::from(error).into()),
    }
}

impl Folder for Objects {
    fn name(&self) -> &Path {
        &self.address
    }

    /// Every poll is a request, which costs time and money.
    fn poll(&self) -> Duration {
        Duration::from_millis(250)
    }

    fn names(&self, prefix: &str) -> io::Result<Vec<String>> {
        let Place { store, path, waiting } = &self.place;
        let listed = waiting.block_on(store.list_with_delimiter(Some(path)));
        let listed = listed.map_err(Fault::from)?.objects.into_iter();
        let names = listed.filter_map(|object| object.location.filename().map(str::to_owned));
        Ok(names.filter(|name| name.starts_with(prefix)).collect())
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        let Place { store, waiting, .. } = &self.place;
        Ok(if_there(waiting.block_on(store.head(&self.object(name))))?.is_some())
    }

    fn read(&self, name: &str, longest: usize) -> io::Result<Option<Vec<u8>>> {
        let Place { store, waiting, .. } = &self.place;
        let Some(found) = if_there(waiting.block_on(store.get(&self.object(name))))? else {
            return Ok(None);
        };
        if found.meta.size > longest as u64 {
            let what = "is not a file that this program writes";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(if_there(waiting.block_on(found.bytes()))?.map(Into::into))
    }

    fn write(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        let Place { store, waiting, .. } = &self.place;
        let payload = PutPayload::from(pieces.concat());
        waiting.block_on(store.put(&self.object(name), payload)).map_err(Fault::from)?;
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let Place { store, waiting, .. } = &self.place;
        if_there(waiting.block_on(store.delete(&self.object(name)))).map(drop)
    }
}
