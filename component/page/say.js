export default function (component) {
  const { data } = component;
  let region = document.getElementById("gieok-live");
  if (!region) {
    region = document.createElement("div");
    region.id = "gieok-live";
    region.setAttribute("role", "status");
    region.setAttribute("aria-live", "polite");
    region.className = "gieok-unseen";
    document.body.appendChild(region);
  }
  if (region.dataset.serial !== data.serial) {
    region.dataset.serial = data.serial;
    region.textContent = data.say;
  }
}
