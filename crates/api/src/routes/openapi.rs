//! The OpenAPI document of the daemon's API, generated from the routes and the types of their bodies.

use std::collections::BTreeMap;

use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{
    ComponentsBuilder, InfoBuilder, KnownFormat, OpenApi, OpenApiBuilder, PathItem, PathsBuilder,
    RefOr, Required, Response, ResponseBuilder, Schema, ServerBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use super::{Answer, Kind, Method, Parameter, Place, Route, ROUTES, VERSION};
use crate::capture::PCAPNG_TYPE;
use crate::daemon;
use crate::record::RECORD_TYPE;
use crate::words::{Vocabulary, Word};

/// Path of the committed document, from the root of the tree.
pub const COMMITTED: &str = "docs/src/reference/openapi.json";

const JSON: &str = "application/json";

const DESCRIPTION: &str = "JSON over HTTP/1.1 on the daemon's Unix socket. Units are the last part of every name. \
Within /v1 only additions are made: paths, parameters that may be left out, members of answers, and words of enumerations. \
A client must ignore members, and accept words, that it does not know.";

/// Suffixes of names, and their units.
const UNITS: [(&str, &str); 6] = [
    ("bits_per_second", "bits per second"),
    ("bytes", "bytes"),
    ("nanos", "nanoseconds"),
    ("milliseconds", "milliseconds"),
    ("seconds", "seconds"),
    ("percent", "percent"),
];

/// The document as JSON.
///
/// # Panics
///
/// Never: all of its keys are text.
pub fn json() -> String {
    let json = document().to_pretty_json();
    json.expect("the keys are text") + "\n"
}

fn document() -> OpenApi {
    let mut paths: BTreeMap<&str, Vec<(HttpMethod, OperationBuilder)>> = BTreeMap::new();
    for route in ROUTES {
        let operation = (method(route.method), operation(route));
        paths.entry(route.path).or_default().push(operation);
    }
    let paths = paths
        .into_iter()
        .fold(PathsBuilder::new(), |all, (path, operations)| {
            let mut item = PathItem::default();
            for (method, operation) in operations {
                item.merge_operations(PathItem::new(method, operation));
            }
            all.path(path, item)
        });
    let server = ServerBuilder::new().url("http://weir").description(Some(
        "The Unix socket /run/weir/NAME/api.sock; the host's name does not matter.",
    ));
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Weir daemon")
                .version(VERSION)
                .description(Some(DESCRIPTION)),
        )
        .servers(Some([server.build()]))
        .paths(paths)
        .components(Some(
            ComponentsBuilder::new()
                .schemas_from_iter(schemas())
                .build(),
        ))
        .build()
}

fn schemas() -> BTreeMap<String, RefOr<Schema>> {
    let mut found = vec![(daemon::Error::name().into_owned(), daemon::Error::schema())];
    for route in ROUTES {
        if let Some(body) = route.body {
            body.collect(&mut found);
        }
        if let Answer::Json(content) | Answer::Lines(content) = route.answer {
            content.collect(&mut found);
        }
    }
    found
        .into_iter()
        .map(|(name, mut schema)| {
            if let RefOr::T(Schema::Object(object)) = &mut schema {
                object.properties.iter_mut().for_each(say_unit);
            }
            (name, schema)
        })
        .collect()
}

fn say_unit((name, schema): (&String, &mut RefOr<Schema>)) {
    let quantity = name.trim_end_matches("_total").trim_end_matches("_max");
    let unit = UNITS.iter().find(|(ending, _)| quantity.ends_with(ending));
    let (Some((_, unit)), RefOr::T(schema)) = (unit, schema) else {
        return;
    };
    let description = match schema {
        Schema::Object(object) => &mut object.description,
        Schema::Array(array) => &mut array.description,
        _ => return,
    };
    let said = description.take().unwrap_or_default();
    *description = Some(format!("{said} Unit: {unit}.").trim().to_owned());
}

fn operation(route: &Route) -> OperationBuilder {
    let mut operation = OperationBuilder::new()
        .operation_id(Some(operation_id(route)))
        .summary(Some(route.summary))
        .response("200", answer(route));
    for parameter in route.parameters {
        operation = operation.parameter(described(parameter));
    }
    if let Some(body) = route.body {
        let content = ContentBuilder::new().schema(Some(body.schema())).build();
        let body = RequestBodyBuilder::new()
            .content(JSON, content)
            .required(Some(Required::True));
        operation = operation.request_body(Some(body.build()));
    }
    let read_only = (route.method != Method::Get).then_some(&403);
    for status in route.refusals.iter().chain(read_only) {
        let refusal = json_response(
            Route::refusal(*status),
            utoipa::openapi::Ref::from_schema_name(daemon::Error::name()).into(),
        );
        operation = operation.response(status.to_string(), refusal);
    }
    operation
}

/// The endpoint's name with a lower-case initial.
fn operation_id(route: &Route) -> String {
    let name = format!("{:?}", route.endpoint);
    name[..1].to_lowercase() + &name[1..]
}

fn answer(route: &Route) -> Response {
    match route.answer {
        Answer::Json(content) => json_response("The answer.", content.schema()),
        Answer::Null => json_response("Done.", Object::with_type(Type::Null).into()),
        Answer::Document => json_response("The document.", Object::with_type(Type::Object).into()),
        Answer::Lines(content) => ResponseBuilder::new()
            .description("One on each line, as they come.")
            .content(
                RECORD_TYPE,
                ContentBuilder::new().schema(Some(content.schema())).build(),
            )
            .build(),
        Answer::Pcapng => ResponseBuilder::new()
            .description("pcapng, as it comes.")
            .content(PCAPNG_TYPE, ContentBuilder::new().build())
            .build(),
    }
}

fn json_response(description: &str, schema: RefOr<Schema>) -> Response {
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new().description(description);
    response.content(JSON, content).build()
}

fn described(parameter: &Parameter) -> ParameterBuilder {
    let (place, required) = match parameter.place {
        Place::Path => (ParameterIn::Path, Required::True),
        Place::Query => (ParameterIn::Query, Required::False),
    };
    let schema = match parameter.kind {
        Kind::Count => ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(0)),
        Kind::Seconds => ObjectBuilder::new()
            .schema_type(Type::Number)
            .minimum(Some(0)),
        Kind::Boolean => ObjectBuilder::new().schema_type(Type::Boolean),
        Kind::Text => ObjectBuilder::new().schema_type(Type::String),
    };
    ParameterBuilder::new()
        .name(parameter.name)
        .parameter_in(place)
        .required(required)
        .description(Some(parameter.description))
        .schema(Some(schema))
}

fn method(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::Get,
        Method::Put => HttpMethod::Put,
        Method::Post => HttpMethod::Post,
        Method::Delete => HttpMethod::Delete,
    }
}

impl<T: Vocabulary> PartialSchema for Word<T> {
    fn schema() -> RefOr<Schema> {
        let meanings = T::WORDS
            .iter()
            .map(|(word, value)| format!("\n- `{word}`: {}", value.meaning()));
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(format!(
                "{}{}",
                T::DESCRIPTION,
                meanings.collect::<String>()
            )))
            .enum_values(Some(T::WORDS.iter().map(|(word, _)| *word)))
            .into()
    }
}

impl<T: Vocabulary> ToSchema for Word<T> {
    fn name() -> std::borrow::Cow<'static, str> {
        T::TITLE.into()
    }
}
