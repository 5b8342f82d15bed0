//! The service `gnmi.gNMI`: answers HTTP/2 requests. It does no I/O and no authentication; the caller authorises
//! clients first.

mod get;
mod looks;
mod subscribe;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http_body::Body as HttpBody;
use tokio::sync::{mpsc, Semaphore};
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::encode::Encoding;
use crate::figures::Figures;
use crate::limits::{QUEUE_MAX, REQUEST_BYTES_MAX, STREAMS_MAX};
use crate::models;
use crate::refusal::Refusal;
use crate::wire::{
    CapabilityRequest, CapabilityResponse, GetRequest, GetResponse, SubscribeRequest,
    SubscribeResponse, PROTOCOL_VERSION,
};
use looks::Looks;
use subscribe::{Call, Sent};

pub use looks::Source;

/// The service, for all connections.
pub struct Gnmi<S> {
    looks: Arc<Looks<S>>,
    figures: Arc<Figures>,
    places: Arc<Semaphore>,
}

impl<S> Clone for Gnmi<S> {
    fn clone(&self) -> Self {
        Self {
            looks: Arc::clone(&self.looks),
            figures: Arc::clone(&self.figures),
            places: Arc::clone(&self.places),
        }
    }
}

impl<S: Source> Gnmi<S> {
    /// Creates a service for the values of `source`, with counters in `figures`.
    pub fn new(source: S, figures: Arc<Figures>) -> Self {
        Self {
            looks: Arc::new(Looks::new(source)),
            figures,
            places: Arc::new(Semaphore::new(STREAMS_MAX)),
        }
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: http::Request<B>) -> http::Response<Body>
    where
        B: HttpBody + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    {
        match request.uri().path() {
            "/gnmi.gNMI/Capabilities" => {
                self.figures.count(|counters| &mut counters.capabilities, 1);
                grpc().unary(Capabilities, request).await
            }
            "/gnmi.gNMI/Get" => {
                self.figures.count(|counters| &mut counters.gets, 1);
                grpc().unary(Get(self.clone()), request).await
            }
            "/gnmi.gNMI/Subscribe" => {
                self.figures.count(|counters| &mut counters.subscribes, 1);
                grpc().streaming(Subscribe(self.clone()), request).await
            }
            "/gnmi.gNMI/Set" => {
                self.figures.count(|counters| &mut counters.sets, 1);
                self.refuse(&Refusal::unimplemented(
                    "gNMI only shows this switch: change it with switchctl, or in its configuration file and by \
                     `switchctl reload`",
                ))
            }
            _ => self.refuse(&Refusal::unimplemented(
                "no such method here; gnmi.gNMI has Capabilities, Get and Subscribe",
            )),
        }
    }

    /// Counts a refusal, and returns the answer for it.
    pub fn refuse(&self, refusal: &Refusal) -> http::Response<Body> {
        self.figures.refuse(refusal).into_http()
    }

    async fn get(&self, request: GetRequest) -> Result<Response<GetResponse>, Status> {
        let answer = async {
            let asked = get::Asked::new(request)?;
            asked.answer(&*self.looks.within(std::time::Duration::ZERO).await)
        };
        let answer = answer.await;
        answer
            .map(Response::new)
            .map_err(|refusal| self.figures.refuse(&refusal))
    }

    fn subscribe(
        &self,
        requests: Streaming<SubscribeRequest>,
    ) -> Result<Response<ReceiverStream<Sent>>, Status> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Err(self.figures.refuse(&Refusal::streams(format!(
                "subscriber limit ({STREAMS_MAX}) reached; use one collector and fan out from it"
            ))));
        };
        let (sender, receiver) = mpsc::channel(QUEUE_MAX);
        let call = Call {
            looks: Arc::clone(&self.looks),
            figures: Arc::clone(&self.figures),
            sender,
        };
        tokio::spawn(async move {
            call.run(requests).await;
            drop(place);
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

fn grpc<E, D>() -> Grpc<ProstCodec<E, D>>
where
    ProstCodec<E, D>: Default + tonic::codec::Codec,
{
    Grpc::new(ProstCodec::default()).max_decoding_message_size(REQUEST_BYTES_MAX)
}

type Answering<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;

struct Capabilities;

impl UnaryService<CapabilityRequest> for Capabilities {
    type Response = CapabilityResponse;
    type Future = std::future::Ready<Result<Response<CapabilityResponse>, Status>>;

    fn call(&mut self, _: Request<CapabilityRequest>) -> Self::Future {
        std::future::ready(Ok(Response::new(CapabilityResponse {
            supported_models: models::to_wire(),
            supported_encodings: Encoding::ALL.map(i32::from).to_vec(),
            gnmi_version: PROTOCOL_VERSION.to_owned(),
        })))
    }
}

struct Get<S>(Gnmi<S>);

impl<S: Source> UnaryService<GetRequest> for Get<S> {
    type Response = GetResponse;
    type Future = Answering<GetResponse>;

    fn call(&mut self, request: Request<GetRequest>) -> Self::Future {
        let gnmi = self.0.clone();
        Box::pin(async move { gnmi.get(request.into_inner()).await })
    }
}

struct Subscribe<S>(Gnmi<S>);

impl<S: Source> StreamingService<SubscribeRequest> for Subscribe<S> {
    type Response = SubscribeResponse;
    type ResponseStream = ReceiverStream<Sent>;
    type Future = std::future::Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<SubscribeRequest>>) -> Self::Future {
        std::future::ready(self.0.subscribe(request.into_inner()))
    }
}
